import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ownRange, TaskUsers } from '../../../../host-agent/leases/task-users.ts';
import { sha256Hex } from '../../../../src/adapters/system/digest.ts';
import { HostWorld } from '../../../support/host-world.ts';

const RANGE = { first: 5_000, count: 7 };

async function usersOn(world: HostWorld): Promise<TaskUsers> {
  const users = new TaskUsers(world.ports, RANGE);
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
    const wide = { first: 5_000, count: 1_000 };
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
