import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Attempt, CellStore } from '../../../../src/ports/cell-store.ts';
import { allocationCodec } from '../../../../src/wire/records/records.ts';
import { withAttempt } from '../../../support/mortal-store.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

describe('gangs larger than one transaction', () => {
  let world: CellWorld;
  beforeEach(() => (world = new CellWorld()));
  afterEach(() => world.close());

  const gang = (name: string, count: number, cpuMilli = 1_000) =>
    makeJob(name, {}, { count, gang: true }, cpuMilli);
  const intents = () => world.under(keys.intents);
  /** Hosts and their room: enough for `members` of 1,000 each. */
  const room = async (members: number): Promise<void> => {
    for (let at = 0; at < members / 10; at++) await world.host(`h${String(at)}`, 10_000);
  };

  it('I6 a gang of 200 is placed by intent, and nothing of it before all of it has room', async () => {
    await room(190);
    await world.scheduler({ id: 'batch-1' });
    await world.submit(gang('huge', 200));
    await world.clock.advance(5_000);
    expect([world.allocations(), intents(), world.running()]).toEqual([[], [], []]);
    await world.host('last', 10_000);
    await world.until(() => world.running().length === 200, 'the gang');
    expect(intents()).toEqual([]);
    expect(new Set(world.allocations().map(({ intent }) => intent)).size).toBe(1);
    expect(world.ledgersAreTrue()).toBe(true);
    // It took more than one transaction.
    const revisions = new Set(world.under(keys.allocations).map(({ createRevision }) => createRevision));
    expect(revisions.size).toBeGreaterThan(1);
  });

  it('I6 nothing of it starts while it is only reserved', async () => {
    await room(200);
    const startsBefore: number[] = [];
    const starts = (): number => [...world.hosts.values()].reduce((sum, host) => sum + host.starts.length, 0);
    await world.scheduler({ id: 'batch-1' }, (store) =>
      watching(store, (attempt) => {
        const isLast = attempt.writes.some(
          ({ kind, key }) => kind === 'delete' && key.startsWith(keys.intents),
        );
        if (isLast) startsBefore.push(starts());
      }),
    );
    await world.submit(gang('huge', 200));
    await world.until(() => world.running().length === 200, 'the gang');
    expect(startsBefore).toEqual([0]);
  });

  it('S4.30 I55 what a scheduler had reserved when it died is given back by its successor, which places it anew', async () => {
    await room(200);
    let left = 1;
    const dying = await world.scheduler({ id: 'batch-1' }, (store) =>
      watching(store, (attempt) => {
        const places = attempt.writes.some(
          ({ kind, key }) => kind === 'put' && key.startsWith(keys.allocations),
        );
        if (places && left-- <= 0) return new Promise<never>(() => undefined);
        return undefined;
      }),
    );
    await world.submit(gang('huge', 200));
    await world.until(() => world.allocations().length > 0, 'a part of it');
    await world.kill(dying);
    const reserved = new Set(world.allocations().map(({ id }) => id));
    expect(reserved.size).toBeGreaterThan(0);
    expect(reserved.size).toBeLessThan(200);
    expect(intents()).toHaveLength(1);
    await world.scheduler({ id: 'batch-2' });
    await world.until(() => world.running().length === 200, 'the gang');
    expect(world.allocations().filter(({ id }) => reserved.has(id))).toEqual([]);
    expect(world.allocations()).toHaveLength(200);
    expect([intents(), world.ledgersAreTrue()]).toEqual([[], true]);
  });

  it('I6 two gangs that do not fit beside each other: one is placed whole, the other waits whole', async () => {
    await room(200);
    const thinkMs = { job: 20, task: 0 };
    for (const id of ['batch-1', 'batch-2', 'batch-3']) await world.scheduler({ id, thinkMs });
    for (const name of ['left', 'right', 'third']) await world.submit(gang(name, 150));
    await world.until(() => world.running().length === 150, 'one of them');
    await world.clock.advance(20_000);
    expect(world.running()).toHaveLength(150);
    expect(new Set(world.allocations().map(({ job }) => job)).size).toBe(1);
    expect([intents(), world.ledgersAreTrue()]).toEqual([[], true]);
    for (const host of world.hosts.values()) host.endAll('complete');
    await world.until(() => world.running().length === 150, 'the next one');
    expect(world.outcomes()).toHaveLength(150);
  });

  it('I6 a gang that lost its last step to somebody who found it too slow is taken back and placed again', async () => {
    await room(200);
    let voided = false;
    await world.scheduler({ id: 'batch-1' }, (store) =>
      watching(store, async (attempt) => {
        const last = attempt.writes.find(
          ({ kind, key }) => kind === 'delete' && key.startsWith(keys.intents),
        );
        if (last === undefined || voided) return;
        voided = true;
        const before = world.cell.get(last.key)?.value ?? '';
        await world.put(last.key, before.replace('"state":"open"', '"state":"void"'));
      }),
    );
    await world.submit(gang('huge', 200));
    await world.until(() => world.running().length === 200, 'the gang');
    expect(voided).toBe(true);
    expect(world.allocations()).toHaveLength(200);
    expect([intents(), world.ledgersAreTrue()]).toEqual([[], true]);
    for (const host of world.hosts.values())
      for (const { allocation } of host.starts)
        expect(world.cell.get(keys.allocation('default', 'huge', allocation.id))).toBeDefined();
  });

  it('S1.2 a gang that is stopped while it is reserved leaves nothing', async () => {
    await room(200);
    const job = gang('huge', 200);
    let stopped = false;
    await world.scheduler({ id: 'batch-1' }, (store) =>
      watching(store, async (attempt) => {
        if (stopped || attempt.writes.every(({ key }) => !key.startsWith(keys.allocations))) return;
        stopped = true;
        await world.submit(job, 2, 'stop');
      }),
    );
    await world.submit(job);
    await world.until(() => stopped && world.owners().length === 0, 'the end of the job');
    expect([world.allocations(), intents(), world.running()]).toEqual([[], [], []]);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('keeps the intent in the record', () => {
    const text = allocationCodec.encode({ ...allocationCodec.decode(MEMBER), intent: '01j' });
    expect(allocationCodec.decode(text).intent).toBe('01j');
    expect(allocationCodec.encode(allocationCodec.decode(text))).toBe(text);
  });
});

const MEMBER =
  '{"v":1,"id":"a","host":"h","precedence":50,"resources":[1,2,0],"index":0,"attempt":1,"namespace":"default","job":"j",' +
  '"jobVersion":1,"group":"g","scheduler":"s","desired":"run","planId":"p","epoch":["e",0],"createdAtMs":1}';

/** The same store; `before` sees each attempt first, and may hold it up. */
function watching(store: CellStore, before: (attempt: Attempt) => Promise<void> | void): CellStore {
  return withAttempt(store, async (one) => {
    await before(one);
    return store.attempt(one);
  });
}
