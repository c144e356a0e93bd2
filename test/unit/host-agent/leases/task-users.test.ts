import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IDS_EACH, ownIds, ownRange, TaskUsers } from '../../../../host-agent/leases/task-users.ts';
import { sha256Hex } from '../../../../src/adapters/system/digest.ts';
import { readMaps } from '../../../../host-agent/leases/mapped-ids.ts';
import { HostWorld } from '../../../support/host-world.ts';

const RANGE = { first: 5_000, count: 7 };

async function usersOn(world: HostWorld): Promise<TaskUsers> {
  const users = new TaskUsers(world.ports, { kind: 'user', range: RANGE, each: 1 });
  await users.open();
  return users;
}

describe('users of a host for tasks', () => {
  it('I45 I68 no two have one, whatever is lent, freed and killed; none is refused while one is free', async () => {
    const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i');
    const steps = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant('lend' as const), id }),
        fc.record({ kind: fc.constant('free' as const), id }),
        fc.record({ kind: fc.constant('kill' as const), id: fc.constant('') }),
      ),
      { maxLength: 60 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const world = new HostWorld();
        let users = await usersOn(world);
        const held = new Map<string, number>();
        for (const step of all) {
          if (step.kind === 'kill') users = await usersOn(world);
          if (step.kind === 'free' && held.has(step.id)) {
            await users.free(step.id, held.get(step.id) ?? 0);
            held.delete(step.id);
          }
          if (step.kind !== 'lend' || held.has(step.id)) continue;
          const uid = await users.lend(step.id);
          if (uid === null) {
            expect(held.size).toBe(RANGE.count);
            continue;
          }
          expect([...held.values()]).not.toContain(uid);
          expect(uid).toBeGreaterThanOrEqual(RANGE.first);
          expect(uid).toBeLessThan(RANGE.first + RANGE.count);
          held.set(step.id, uid);
        }
        const kept = new Map([...held].map(([one, uid]) => [String(uid), one]));
        expect(await users.store.all()).toEqual(kept);
      }),
    );
  });

  it('I68 each is lent again last of all', async () => {
    const world = new HostWorld();
    const users = await usersOn(world);
    const seen: (number | null)[] = [];
    for (let n = 0; n < 2 * RANGE.count; n++) {
      const uid = await users.lend(`a${String(n)}`);
      seen.push(uid);
      await users.free(`a${String(n)}`, uid ?? 0);
    }
    const turn = Array.from({ length: RANGE.count }, (_, n) => RANGE.first + n);
    expect(seen).toEqual([...turn, ...turn]);
  });

  it('I68 those that ask at once get different ones', async () => {
    const users = await usersOn(new HostWorld());
    const got = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((id) => users.lend(id)));
    expect(new Set(got).size).toBe(RANGE.count + 1);
    expect(got.filter((uid) => uid === null)).toHaveLength(1);
  });

  it('I68 what an agent gave out a moment before it died is not the first that the next one gives out', async () => {
    const world = new HostWorld();
    const wide = { kind: 'user', range: { first: 5_000, count: 1_000 }, each: 1 } as const;
    const before = new TaskUsers(world.ports, wide);
    await before.open();
    const uid = await before.lend('a');
    await before.free('a', uid ?? 0);
    const after = new TaskUsers(world.ports, wide);
    await after.open();
    expect(await after.lend('b')).toBeGreaterThan(uid ?? Infinity);
  });

  it('I68 the default range lies where nobody else gives out ids, and is the folder’s own', () => {
    fc.assert(
      fc.property(fc.string(), (stateId) => {
        const { first, count } = ownRange(sha256Hex(stateId));
        expect(first).toBeGreaterThanOrEqual(1_879_048_192);
        expect(first + count).toBeLessThan(2 ** 31);
        expect(ownRange(sha256Hex(stateId))).toEqual({ first, count });
      }),
    );
    expect(ownRange(sha256Hex('a'))).not.toEqual(ownRange(sha256Hex('b')));
  });
});

describe('ranges of ids for user namespaces', () => {
  const RANGE = { first: 2 ** 31, count: 5 * IDS_EACH + 7 };
  const whole = ([first, count]: readonly [number, number]) => ({ first, count });

  it('I45 I68 no two overlap, nor what others have mapped, whatever is lent, freed and killed; all come back', async () => {
    const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
    const steps = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant('lend' as const), id }),
        fc.record({ kind: fc.constant('free' as const), id }),
        fc.record({ kind: fc.constant('kill' as const), id: fc.constant('') }),
      ),
      { maxLength: 40 },
    );
    const foreign = fc
      .tuple(
        fc.integer({ min: RANGE.first - 10, max: RANGE.first + RANGE.count }),
        fc.integer({ min: 1, max: 70_000 }),
      )
      .map(whole);
    await fc.assert(
      fc.asyncProperty(steps, fc.array(foreign, { maxLength: 2 }), async (all, others) => {
        const world = new HostWorld();
        const inUse = () => Promise.resolve(others);
        const open = async (): Promise<TaskUsers> => {
          const made = new TaskUsers(world.ports, { kind: 'ids', range: RANGE, each: IDS_EACH, inUse });
          await made.open();
          return made;
        };
        const apart = (a: number, b: { first: number; count: number }): boolean =>
          a + IDS_EACH <= b.first || b.first + b.count <= a;
        const free = [0, 1, 2, 3, 4].filter((n) =>
          others.every((other) => apart(RANGE.first + n * IDS_EACH, other)),
        ).length;
        let ranges = await open();
        const held = new Map<string, number>();
        for (const step of all) {
          if (step.kind === 'kill') ranges = await open();
          if (step.kind === 'free') {
            await ranges.free(step.id, held.get(step.id) ?? 0);
            held.delete(step.id);
          }
          if (step.kind !== 'lend' || held.has(step.id)) continue;
          const first = await ranges.lend(step.id);
          if (first === null) {
            expect(held.size).toBe(free);
            continue;
          }
          for (const other of [...others, ...[...held.values()].map((one) => whole([one, IDS_EACH]))])
            expect(apart(first, other)).toBe(true);
          expect(first).toBeGreaterThanOrEqual(RANGE.first);
          expect(first + IDS_EACH).toBeLessThanOrEqual(RANGE.first + RANGE.count);
          held.set(step.id, first);
        }
        for (const [one, first] of held) await ranges.free(one, first);
        expect(await ranges.store.all()).toEqual(new Map());
      }),
    );
  });

  it('I68 the default one lies above all others, below the number that is none, and is the folder’s own', () => {
    fc.assert(
      fc.property(fc.string(), (stateId) => {
        const { first, count } = ownIds(sha256Hex(stateId));
        expect(first).toBeGreaterThanOrEqual(2 ** 31);
        expect(first + count).toBeLessThan(2 ** 32 - 1);
        expect(count % IDS_EACH).toBe(0);
      }),
    );
  });

  it('the maps of the machine’s processes are read, without that of the machine itself', () => {
    const text =
      '         0          0 4294967295\n         0 2147483648      65536\n      1000       1000          1\n';
    expect(readMaps(text)).toEqual([whole([2_147_483_648, 65_536]), whole([1_000, 1])]);
    expect(readMaps('')).toEqual([]);
  });
});
