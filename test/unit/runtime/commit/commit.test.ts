import { describe, expect, it } from 'vitest';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import type { PartOutcome, Plan } from '../../../../src/core/commit/plan.ts';
import type { AttemptReply } from '../../../../src/ports/cell-store.ts';
import { StoreError } from '../../../../src/ports/cell-store.ts';
import { allocationCodec, outcomeCodec } from '../../../../src/wire/records/records.ts';
import {
  auditCell,
  committerWorld,
  own,
  planOf,
  testAllocation,
  testHost,
} from '../../../support/commit-world.ts';
import { FaultyStore } from '../../../support/faulty-store.ts';
import { InstantClock } from '../../../support/instant-clock.ts';
import { sleep } from '../../../../src/runtime/wait/wait.ts';
import { NO_SCALARS } from '../../../../src/core/cell/resources.ts';

const keys = cellKeys('test');
const NO_RESOURCES = { cpuMilli: 0, memoryMib: 0, diskMib: 0, scalars: NO_SCALARS };

/** One cell of a few hosts, and any number of schedulers that own the job `web`. */
async function cellOf(hostCount = 4) {
  const clock = new InstantClock();
  const random = seededRandom(1);
  const cell = new MemoryCell({ clock });
  const store = new MemoryCellStore({ clock, cell });
  const ids = Array.from({ length: hostCount }, (_, n) => `h${String(n)}`);
  const hosts = new Map(ids.map((id) => [id, testHost(id)]));
  return {
    ...{ clock, random, cell, store, hosts },
    scheduler: async (more: Partial<Parameters<typeof committerWorld>[0]> = {}) => {
      const world = committerWorld({ store, keys, hosts, clock, random, ...more });
      await own(store, keys, world, 'web');
      return world;
    },
    check: () => expect(auditCell(cell, keys, hosts).faults).toEqual([]),
  };
}

const place = (id: string, host: string, more = {}) => testAllocation(id, host, more);

function revisionOf(part: PartOutcome | undefined): number {
  if (part === undefined || part.kind === 'conflicted') throw new Error('it is not in the store');
  return part.revision;
}

/** Lost to a commit by one who had read nothing of the ledger before. */
function raceOf(first: PartOutcome | undefined): object {
  return { readRevision: expect.any(Number) as unknown, foundRevision: revisionOf(first) };
}

describe('committer', () => {
  it('commits a plan, and tells the new ledgers before the outcome', async () => {
    const cell = await cellOf();
    const world = await cell.scheduler();
    const outcome = await world.committer.commit(
      planOf('p', { places: [place('a', 'h0'), place('b', 'h1')] }),
    );
    expect([...outcome.values()].map((end) => end.kind)).toEqual(['committed', 'committed']);
    expect(world.book.get('h0').revision).toBe(cell.cell.revision);
    expect(world.book.isCommitted(cell.cell.revision)).toBe(true);
    expect(world.committer.stats).toMatchObject({ committed: 2, transactions: 1, refused: 0 });
    await world.committer.idle();
    cell.check();
  });

  it('is done at once with an empty plan, and refuses one that names an allocation twice', async () => {
    const { committer } = await (await cellOf()).scheduler();
    expect((await committer.commit(planOf('p'))).size).toBe(0);
    expect(() => committer.commit(planOf('p', { places: [place('a', 'h0'), place('a', 'h1')] }))).toThrow(
      /twice/,
    );
  });

  it('joins the plans of one turn in one transaction', async () => {
    const cell = await cellOf(64);
    const { committer } = await cell.scheduler();
    await Promise.all(
      Array.from({ length: 64 }, (_, n) =>
        committer.commit(planOf(`p${String(n)}`, { places: [place(`a${String(n)}`, `h${String(n)}`)] })),
      ),
    );
    expect(committer.stats).toMatchObject({ committed: 64, transactions: 1 });
  });

  it('goes by the limits that the store has now, and not by those that it had at first', async () => {
    const cell = await cellOf(64);
    const limits = { operationsMax: 16, bytesMax: 1_000_000 };
    const changing = new MemoryCellStore({ clock: cell.clock, cell: cell.cell, limits });
    const gang = (plan: string, size: number): Plan =>
      planOf(plan, {
        atomicity: 'all-or-nothing',
        places: Array.from({ length: size }, (_, n) => place(`${plan}${String(n)}`, `h${String(n)}`)),
      });
    const { committer } = await cell.scheduler({ store: changing });
    const kinds = async (plan: Plan): Promise<Set<string>> =>
      new Set([...(await committer.commit(plan)).values()].map(({ kind }) => kind));
    expect(await kinds(gang('early', 20))).toEqual(new Set(['conflicted']));
    limits.operationsMax = 64;
    expect(await kinds(gang('late', 20))).toEqual(new Set(['committed']));
    limits.operationsMax = 16;
    expect(await kinds(gang('lowered', 20))).toEqual(new Set(['conflicted']));
    expect(committer.stats).toMatchObject({ committed: 20, transactions: 1 });
  });

  it('lets a host in flight wait its turn, and never conflicts with itself', async () => {
    const cell = await cellOf(1);
    const { committer } = await cell.scheduler({ inFlightMax: 8 });
    const plans: Promise<unknown>[] = [];
    for (let n = 0; n < 4; n++) {
      plans.push(committer.commit(planOf(`p${String(n)}`, { places: [place(`a${String(n)}`, 'h0')] })));
      await Promise.resolve();
    }
    await Promise.all(plans);
    expect(committer.stats).toMatchObject({ committed: 4, rebased: 0, refused: 0 });
    cell.check();
  });

  it('sends less to a store that slows down, and more when it is quick again (back-pressure)', async () => {
    const HOSTS = 64;
    const cell = await cellOf(HOSTS);
    const limits = { operationsMax: 4, bytesMax: 1_000_000 };
    const store = new MemoryCellStore({ clock: cell.clock, cell: cell.cell, limits });
    const attempt = store.attempt.bind(store);
    const seen = { delayMs: 1, underWay: 0, most: 0 };
    // One after the other: each waits for those before it, since the clock moves on with every delay.
    store.attempt = async (wanted) => {
      seen.underWay += 1;
      seen.most = Math.max(seen.most, seen.underWay);
      await sleep(cell.clock, seen.delayMs);
      seen.underWay -= 1;
      return attempt(wanted);
    };
    const { committer } = await cell.scheduler({ store, inFlightMax: 8 });
    let made = 0;
    const most = async (delayMs: number): Promise<number> => {
      seen.delayMs = delayMs;
      for (let burst = 0; burst < 8; burst++) {
        const plans = Array.from({ length: HOSTS }, (_, n) => {
          const places = [place(`a${String((made += 1))}`, `h${String(n)}`, { resources: NO_RESOURCES })];
          return committer.commit(planOf(`p${String(made)}`, { places }));
        });
        seen.most = 0;
        await Promise.all(plans);
      }
      return seen.most;
    };
    expect(await most(1)).toBe(8);
    expect(await most(50)).toBe(2);
    expect(committer.window).toBe(2);
    // Two of two placements each are under way, and one is ready.
    expect(committer.placementsMax).toBe(3 * 2);
    expect(await most(1)).toBeGreaterThan(6);
    expect(committer.stats).toMatchObject({ committed: 3 * 8 * HOSTS, refused: 0 });
    cell.check();
  });

  it('halves what it sends once, when one broken connection cuts off all that is under way', async () => {
    const cell = await cellOf(16);
    const limits = { operationsMax: 4, bytesMax: 1_000_000 };
    const store = new MemoryCellStore({ clock: cell.clock, cell: cell.cell, limits });
    const attempt = store.attempt.bind(store);
    const { committer } = await cell.scheduler({ store, inFlightMax: 8 });
    let sent = 0;
    let least = committer.window;
    const cutOff: ((reply: AttemptReply) => void)[] = [];
    store.attempt = (wanted) => {
      sent += 1;
      least = Math.min(least, committer.window);
      if (sent > 8) return attempt(wanted);
      const reply = new Promise<AttemptReply>((resolve) => cutOff.push(resolve));
      if (sent === 8) for (const cut of cutOff) cut({ outcome: 'unknown', cause: new Error('reset') });
      return reply;
    };
    const places = Array.from({ length: 16 }, (_, n) => place(`a${String(n)}`, `h${String(n)}`));
    await committer.commit(planOf('p', { places }));
    expect(least).toBe(4);
    expect(committer.stats).toMatchObject({ committed: 16, unknownResolved: 8 });
    cell.check();
  });

  it('sends more again where bytes bound a transaction, and none has the operations that it may', async () => {
    const HOSTS = 64;
    const cell = await cellOf(HOSTS);
    const limits = { operationsMax: 2 * HOSTS, bytesMax: 6_000 };
    const store = new MemoryCellStore({ clock: cell.clock, cell: cell.cell, limits });
    const attempt = store.attempt.bind(store);
    const { committer } = await cell.scheduler({ store, inFlightMax: 8 });
    const burst = async (name: string): Promise<void> => {
      const places = Array.from({ length: HOSTS }, (_, n) =>
        place(`${name}-${String(n)}`, `h${String(n)}`, { resources: NO_RESOURCES }),
      );
      await committer.commit(planOf(name, { places }));
    };
    let mostWrites = 0;
    let isCut = true;
    store.attempt = async (wanted) => {
      const reply = await attempt(wanted);
      mostWrites = Math.max(mostWrites, wanted.writes.length);
      if (!isCut) return reply;
      isCut = false;
      return { outcome: 'unknown', cause: new Error('reset') };
    };
    await burst('first');
    expect(committer.window).toBeLessThan(8);
    for (let n = 0; n < 16; n++) await burst(`more${String(n)}`);
    expect(committer.window).toBe(8);
    expect(mostWrites).toBeLessThan(limits.operationsMax / 2);
    cell.check();
  });

  it('rebases what still fits after the ledger moved, and calls a conflict what does not', async () => {
    const cell = await cellOf(2);
    const [one, two] = [await cell.scheduler(), await cell.scheduler()];
    two.owned.set('default/web', 0);
    await own(cell.store, keys, two, 'web2');
    const first = await one.committer.commit(
      planOf('p', { places: ['a', 'b', 'c'].map((id) => place(id, 'h0')) }),
    );
    const outcome = await two.committer.commit(
      planOf('q', { places: [place('d', 'h0', { job: 'web2' }), place('e', 'h1', { job: 'web2' })] }),
    );
    // Both revisions: what was read, and the commit that came first.
    expect(outcome.get('d')).toMatchObject({ kind: 'rebased', race: raceOf(first.get('a')) });
    expect(outcome.get('e')).toEqual({ kind: 'committed', revision: revisionOf(outcome.get('d')) });
    const more = await one.committer.commit(planOf('r', { places: [place('f', 'h0')] }));
    expect(more.get('f')).toEqual({
      kind: 'conflicted',
      why: { reason: 'no-fit', short: { dimension: 'cpu', needed: 1000, available: 0 } },
      race: { readRevision: revisionOf(first.get('a')), foundRevision: revisionOf(outcome.get('d')) },
    });
    expect(one.committer.stats).toMatchObject({ committed: 3, conflicted: 1, refused: 1 });
    cell.check();
  });

  it('under `version` takes a moved ledger for a conflict, but not its own moves', async () => {
    const cell = await cellOf(1);
    const one = await cell.scheduler({ conflictCheck: 'version' });
    const two = await cell.scheduler({ conflictCheck: 'version' });
    one.owned.set('default/web', two.owned.get('default/web') ?? 0);
    const mine = ['a', 'b'].map((id) => one.committer.commit(planOf(id, { places: [place(id, 'h0')] })));
    for (const plan of mine) expect([...(await plan).values()][0]?.kind).toBe('committed');
    const outcome = await two.committer.commit(planOf('q', { places: [place('c', 'h0')] }));
    expect(outcome.get('c')).toMatchObject({ kind: 'conflicted', why: { reason: 'version' } });
    expect((await two.committer.commit(planOf('r', { places: [place('d', 'h0')] }))).get('d')?.kind).toBe(
      'committed',
    );
  });

  it('S4.26 voids the work of a job that was taken over, and commits the rest of the transaction', async () => {
    const cell = await cellOf();
    const world = await cell.scheduler();
    await own(cell.store, keys, world, 'lost');
    await cell.store.attempt({
      ...{ compares: [], readBack: [] },
      writes: [{ kind: 'delete', key: keys.owner('default', 'lost') }],
    });
    const [kept, lost] = await Promise.all([
      world.committer.commit(planOf('p', { places: [place('a', 'h0')] })),
      world.committer.commit(planOf('q', { places: [place('b', 'h1', { job: 'lost' })] })),
    ]);
    expect(kept.get('a')?.kind).toBe('committed');
    expect(lost.get('b')).toEqual({ kind: 'conflicted', why: { reason: 'not-owner' } });
    expect(world.committer.stats).toMatchObject({ transactions: 2, refused: 1 });
  });

  it('I6 places a gang in one revision or not at all', async () => {
    const cell = await cellOf(3);
    const [one, two] = [await cell.scheduler(), await cell.scheduler()];
    one.owned.set('default/web', two.owned.get('default/web') ?? 0);
    await one.committer.commit(planOf('p', { places: ['a', 'b', 'c', 'd'].map((id) => place(id, 'h2')) }));
    const gang = (id: string, hosts: string[]) =>
      planOf(id, {
        atomicity: 'all-or-nothing',
        places: hosts.map((host, n) => place(`${id}${String(n)}`, host)),
      });
    const refused = await two.committer.commit(gang('x', ['h0', 'h1', 'h2']));
    expect([...refused.values()].map((end) => end.kind === 'conflicted' && end.why.reason)).toEqual([
      ...['plan-refused', 'plan-refused', 'no-fit'],
    ]);
    const landed = await two.committer.commit(gang('y', ['h0', 'h1']));
    expect(new Set([...landed.values()].map((end) => end.kind !== 'conflicted' && end.revision)).size).toBe(
      1,
    );
    cell.check();
  });

  it('evicts in the same transaction, then releases the victim with its outcome', async () => {
    const cell = await cellOf(1);
    const world = await cell.scheduler();
    const old = ['a', 'b', 'c', 'd'].map((id) =>
      place(id, 'h0', { precedence: 10, ports: id === 'a' ? { p: 20_000 } : {} }),
    );
    await world.committer.commit(planOf('p', { places: old }));
    const keyOfA = keys.allocation('default', 'web', 'a');
    const victim = cell.cell.get(keyOfA)!;
    const outcome = await world.committer.commit(
      planOf('q', {
        places: [place('new', 'h0', { precedence: 90, evicts: ['a'] })],
        evictions: [{ victim: old[0]!, victimRevision: victim.modRevision, cause: 'evicted by web' }],
      }),
    );
    expect([...outcome.values()].map((end) => end.kind)).toEqual(['committed', 'committed']);
    const evicted = cell.cell.get(keyOfA)!;
    expect(allocationCodec.decode(evicted.value)).toMatchObject({
      desired: 'evict',
      cause: 'evicted by web',
    });
    expect(world.book.get('h0').ledger.ports).toEqual([20_000]);
    const again = await world.committer.commit(
      planOf('r', { evictions: [{ victim: old[0]!, victimRevision: victim.modRevision, cause: 'late' }] }),
    );
    expect(again.get('a')).toMatchObject({ why: { reason: 'changed' } });
    const record = {
      ...{
        allocation: 'a',
        namespace: 'default',
        job: 'web',
        jobVersion: 1,
        group: 'web',
        index: 0,
        attempt: 1,
      },
      ...{ host: 'h0', scheduler: 's', state: 'killed', reason: 'evicted', endedAtMs: 1, restarts: 0 },
    };
    const release = {
      allocation: allocationCodec.decode(evicted.value),
      revision: evicted.modRevision,
      outcome: record,
    };
    const released = await world.committer.commit(planOf('s', { releases: [release] }));
    expect(released.get('a')?.kind).toBe('committed');
    expect(outcomeCodec.decode(cell.cell.get(keys.outcome('default', 'web', 'a'))!.value)).toEqual(record);
    expect(cell.cell.get(keyOfA)).toBeUndefined();
    expect(world.book.get('h0').ledger.ports).toEqual([]);
    expect((await world.committer.commit(planOf('t', { releases: [release] }))).get('a')).toMatchObject({
      why: { reason: 'changed' },
    });
    cell.check();
  });

  it('reads the ledger afresh when the known one is older than what is to be released', async () => {
    const cell = await cellOf(1);
    const one = await cell.scheduler();
    await one.committer.commit(planOf('p', { places: [place('a', 'h0')] }));
    const revision = cell.cell.get(keys.allocation('default', 'web', 'a'))!.modRevision;
    const two = await cell.scheduler();
    const release = { allocation: place('a', 'h0'), revision, outcome: null };
    expect((await two.committer.commit(planOf('q', { releases: [release] }))).get('a')?.kind).toBe(
      'committed',
    );
    cell.check();
  });

  it('I11 gives up a unit that is refused again and again', async () => {
    const cell = await cellOf(1);
    const faulty = new FaultyStore(cell.store, cell.random);
    const world = await cell.scheduler({ store: faulty.store, rebasesMax: 8 });
    // Another scheduler is always first: the ledger moves between our read and our write.
    faulty.next = () => {
      const key = keys.ledger('h0');
      void cell.store.attempt({
        compares: [],
        writes: [{ kind: 'put', key, value: '{"v":1}' }],
        readBack: [],
      });
      return null;
    };
    const outcome = await world.committer.commit(planOf('p', { places: [place('a', 'h0')] }));
    expect(outcome.get('a')).toMatchObject({ kind: 'conflicted', why: { reason: 'contended' } });
    expect(world.committer.stats.refused).toBe(9);
  });

  it('leaves out echoes only of revisions that are surely its own', async () => {
    const cell = await cellOf(4);
    const faulty = new FaultyStore(cell.store, cell.random);
    const world = await cell.scheduler({ store: faulty.store });
    let losesReply = true;
    faulty.next = () => {
      const fault = losesReply ? 'reply-lost' : null;
      losesReply = false;
      return fault;
    };
    await world.committer.commit(planOf('p', { places: [place('a', 'h0')] }));
    // A new allocation tells which revision it was.
    const { modRevision = 0 } = cell.cell.get(keys.ledger('h0')) ?? {};
    expect(world.book.isCommitted(modRevision)).toBe(true);

    // Of a release nothing is left that would: others may have written since, and their revision is the newest.
    const allocation = place('a', 'h0');
    const releases = [{ allocation, revision: modRevision, outcome: null }];
    const read = cell.store.read.bind(cell.store);
    cell.store.read = async (wanted) => {
      cell.store.read = read;
      await cell.store.attempt({
        ...{ compares: [], readBack: [] },
        writes: [{ kind: 'put', key: keys.ledger('h3'), value: '{"v":1}' }],
      });
      return read(wanted);
    };
    losesReply = true;
    const outcome = await world.committer.commit(planOf('q', { releases }));
    expect(outcome.get('a')?.kind).not.toBe('conflicted');
    expect(world.committer.stats.unknownResolved).toBe(2);
    for (let revision = modRevision + 1; revision <= cell.cell.revision; revision++)
      expect(world.book.isCommitted(revision), `revision ${String(revision)}`).toBe(false);
  });

  it('I5 a commit that lands after it was given up for lost does not land twice', async () => {
    const cell = await cellOf(4);
    const faulty = new FaultyStore(cell.store, cell.random);
    const world = await cell.scheduler({ store: faulty.store });
    let attempts = 0;
    faulty.next = () => ((attempts += 1) === 1 ? 'lands-late' : null);
    const outcome = await world.committer.commit(
      planOf('p', { places: [place('a', 'h0'), place('b', 'h1')] }),
    );
    expect([...outcome.values()].every((end) => end.kind !== 'conflicted')).toBe(true);
    await faulty.landed();
    expect(world.committer.stats.unknownResolved).toBe(1);
    cell.check();
  });

  it('waits while the store is away, and resumes after', async () => {
    const cell = await cellOf();
    const faulty = new FaultyStore(cell.store, cell.random);
    const world = await cell.scheduler({ store: faulty.store });
    let attempts = 0;
    faulty.next = () => ((attempts += 1) <= 5 ? 'unavailable' : null);
    const outcome = await world.committer.commit(planOf('p', { places: [place('a', 'h0')] }));
    expect(outcome.get('a')?.kind).toBe('committed');
    await world.committer.idle();
  });

  for (const fault of ['request-lost', 'unavailable'] as const)
    it(`I5 sends nothing more for a lost session, neither again nor from the queue (${fault})`, async () => {
      const cell = await cellOf();
      const faulty = new FaultyStore(cell.store, cell.random);
      const session = new AbortController();
      const world = await cell.scheduler({
        ...{ store: faulty.store, inFlightMax: 1 },
        session: () => session.signal,
      });
      let attempts = 0;
      faulty.next = () => {
        attempts += 1;
        if (attempts === 3) session.abort();
        return fault;
      };
      const before = cell.cell.revision;
      const underWay = world.committer.commit(planOf('p', { places: [place('a', 'h0')] }));
      const queued = world.committer.commit(planOf('q', { places: [place('b', 'h0')] }));
      const ends = await Promise.allSettled([underWay, queued]);
      const after = world.committer.commit(planOf('r', { places: [place('c', 'h1')] }));
      ends.push(...(await Promise.allSettled([after])));
      for (const end of ends) expect(end).toMatchObject({ status: 'rejected', reason: { code: 'closed' } });
      await world.committer.idle();
      expect([attempts, cell.cell.revision]).toEqual([3, before]);
    });

  it('commits under the next session what is asked for then', async () => {
    const cell = await cellOf();
    let session = AbortSignal.abort();
    const world = await cell.scheduler({ session: () => session });
    const early = world.committer.commit(planOf('p', { places: [place('a', 'h0')] }));
    await expect(early).rejects.toBeInstanceOf(StoreError);
    session = new AbortController().signal;
    const outcome = await world.committer.commit(planOf('q', { places: [place('b', 'h0')] }));
    expect(outcome.get('b')?.kind).toBe('committed');
    cell.check();
  });

  it('rejects when the store was closed', async () => {
    const cell = await cellOf();
    const world = await cell.scheduler();
    await cell.store.close();
    await expect(world.committer.commit(planOf('p', { places: [place('a', 'h0')] }))).rejects.toBeInstanceOf(
      StoreError,
    );
    await world.committer.idle();
  });

  it('sends fewer together when the bytes are too many, and refuses what is too large alone', async () => {
    const cell = await cellOf(8);
    const store = new MemoryCellStore({
      ...{ clock: cell.clock, cell: cell.cell, limits: { operationsMax: 128, bytesMax: 2_500 } },
    });
    const world = await cell.scheduler({ store });
    const small = Array.from({ length: 8 }, (_, n) => place(`a${String(n)}`, `h${String(n)}`));
    const outcome = await world.committer.commit(
      planOf('p', { places: [...small.slice(1), place('large', 'h0', { cause: 'x'.repeat(3_000) })] }),
    );
    expect(outcome.get('large')).toEqual({ kind: 'conflicted', why: { reason: 'too-large' } });
    expect([...outcome.values()].filter((end) => end.kind === 'committed')).toHaveLength(7);
  });
});
