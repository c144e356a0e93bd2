import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { DEFAULT_STORE_LIMITS } from '../../../../src/adapters/store/store.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { STEP_IN_MAX_MS, STEP_IN_MS } from '../../../../src/core/cell/ownership.ts';
import type { CellStore } from '../../../../src/ports/cell-store.ts';
import { JobRow } from '../../../../schedulers/ownership/job-index.ts';
import { JobClaims } from '../../../../schedulers/ownership/job-claims.ts';
import { jobCodec } from '../../../../src/wire/records/records.ts';
import { withCalls } from '../../../support/changed-store.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { keys, makeJob } from '../cell-world.ts';

/** How much later than its time a job may be checked. */
const LOOK_MS = STEP_IN_MS;
const DELAY_MS = STEP_IN_MS;

/**
 * Takes of one scheduler that sees jobs without an owner; when each became its own, in ms.
 * @param wrap what it takes them from, of a store that is empty
 */
async function takesOf(
  isAwaited: (nowMs: number) => boolean,
  limits = DEFAULT_STORE_LIMITS,
  wrap: (store: CellStore) => CellStore = (store) => store,
) {
  const clock = new ManualClock();
  const store = wrap(new MemoryCellStore({ clock, limits }));
  const adopted = new Map<string, number>();
  const row = (key: string): JobRow => {
    const record = {
      ...{ job: makeJob(key.slice(key.indexOf('/') + 1)), version: 1, desired: 'run' as const },
      submittedAtMs: 0,
    };
    const value = jobCodec.encode(record);
    return new JobRow({ key, value, createRevision: 1, modRevision: 1 }, true, () => undefined);
  };
  const takes = new JobClaims(
    {
      ...{ store, keys, clock, log: silentLog, onClaimed: () => undefined },
      ...{ session: await store.openSession({ ttlMs: 60_000 }), signal: new AbortController().signal },
      self: { scheduler: 'batch-1', kind: 'batch', sinceMs: 0 },
    },
    {
      jobs: { get: row },
      isOpen: () => true,
      isAwaited: () => isAwaited(clock.monotonicMs()),
      ownRevisionOf: () => undefined,
      firstPlacement: () => null,
      adopt: (key) => {
        takes.forget(key);
        adopted.set(key, clock.monotonicMs());
      },
    },
  );
  return { clock, takes, adopted };
}

describe('stepping in for another scheduler', () => {
  it('happens after the delay when none before us is taking jobs', async () => {
    const { clock, takes, adopted } = await takesOf(() => false);
    takes.want('default/one', DELAY_MS);
    await clock.advance(DELAY_MS - 1);
    expect(adopted.size).toBe(0);
    await clock.advance(1 + LOOK_MS);
    expect([...adopted.keys()]).toEqual(['default/one']);
  });

  it('waits while one before us is taking jobs, then happens', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 2 * STEP_IN_MAX_MS }), async (busyMs) => {
        const { clock, takes, adopted } = await takesOf((nowMs) => nowMs < busyMs);
        takes.want('default/one', DELAY_MS);
        await clock.advance(DELAY_MS + STEP_IN_MAX_MS + 2 * LOOK_MS);
        const tookAtMs = adopted.get('default/one') ?? Infinity;
        const fromMs = Math.min(Math.max(DELAY_MS, busyMs), DELAY_MS + STEP_IN_MAX_MS);
        expect(tookAtMs).toBeGreaterThanOrEqual(fromMs);
        expect(tookAtMs).toBeLessThanOrEqual(fromMs + STEP_IN_MS + LOOK_MS);
      }),
      { numRuns: 30 },
    );
  });

  it('happens at once when we come to be the first', async () => {
    const { clock, takes, adopted } = await takesOf(() => true);
    takes.want('default/one', DELAY_MS);
    await clock.advance(1);
    takes.want('default/one', 0);
    await clock.advance(0);
    expect(adopted.get('default/one')).toBe(1);
  });

  it('does not happen while another scheduler owns the job', async () => {
    const { clock, takes, adopted } = await takesOf(() => false);
    takes.want('default/one', DELAY_MS);
    takes.want('default/two', DELAY_MS);
    takes.withdraw('default/one');
    await clock.advance(DELAY_MS + LOOK_MS);
    expect([...adopted.keys()]).toEqual(['default/two']);
    expect([...takes.waiting()]).toEqual([]);
  });
});

it('S3.47 takes from each namespace in turn, also where one transaction holds fewer jobs than there are namespaces', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 2, maxLength: 6 }),
      fc.integer({ min: 1, max: 5 }),
      async (waiting, jobsEach) => {
        const limits = { ...DEFAULT_STORE_LIMITS, operationsMax: 3 * jobsEach };
        const { clock, takes, adopted } = await takesOf(() => false, limits);
        for (const [n, jobs] of waiting.entries())
          for (let job = 0; job < jobs; job++) takes.want(`n${String(n)}/job${String(job)}`, 0);
        await clock.advance(STEP_IN_MAX_MS);
        const left = [...waiting];
        for (const key of adopted.keys()) {
          left[Number(key.slice(1, key.indexOf('/')))]! -= 1;
          const had = waiting.map((all, n) => all - left[n]!).filter((_, n) => left[n]! > 0);
          if (had.length > 0) expect(Math.max(...had) - Math.min(...had)).toBeLessThanOrEqual(1);
        }
        expect(left.every((count) => count === 0)).toBe(true);
      },
    ),
    { numRuns: 100 },
  );
});

it('I24 a take that was refused for one who is gone by then is tried again', async () => {
  const key = `${keys.owners}default/one`;
  let refusals = 0;
  const wrap = (store: CellStore): CellStore =>
    withCalls(store, {
      attempt: async (attempt) => {
        if (refusals > 0) return store.attempt(attempt);
        refusals += 1;
        const plain = { compares: [], readBack: [] };
        await store.attempt({ ...plain, writes: [{ kind: 'put', key, value: 'somebody' }] });
        const reply = await store.attempt(attempt);
        await store.attempt({ ...plain, writes: [{ kind: 'delete', key }] });
        return reply;
      },
    });
  const { clock, takes, adopted } = await takesOf(() => false, DEFAULT_STORE_LIMITS, wrap);
  takes.want('default/one', 0);
  await clock.advance(2_000);
  expect(refusals).toBe(1);
  expect([...adopted.keys()]).toEqual(['default/one']);
  expect([...takes.waiting()]).toEqual([]);
});
