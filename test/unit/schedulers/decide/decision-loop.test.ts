import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../../src/ports/clock.ts';
import type { Term } from '../../../../schedulers/state/state.ts';
import { DecisionLoop } from '../../../../schedulers/decide/decision-loop.ts';
import type { DecidedPlan } from '../../../../schedulers/state/decided-plan.ts';
import type { Entry, OwnedJob } from '../../../../schedulers/state/owned-job.ts';
import { InstantClock, turns } from '../../../support/instant-clock.ts';

/** Placements of one turn. */
const EACH = 64;
/** Placements that the pipeline takes. */
const ROOM = 32 * EACH;
/** Turns' worth of jobs: more than may ever be decided. */
const JOBS = 200;

/** Jobs that each place `EACH`, and a pipeline in which they stay until the test ends them. */
function worldOf(storeTakes: number, tickets: 'slow' | 'none') {
  const ending = new AbortController();
  const pipeline = {
    waiting: 0,
    committing: 0,
    get underWay() {
      return this.waiting + this.committing;
    },
    get hasRoom() {
      return this.underWay < ROOM;
    },
    run(_job: OwnedJob, { entries }: DecidedPlan) {
      if (tickets === 'none') this.committing += entries.length;
      else this.waiting += entries.length;
      return Promise.resolve(true);
    },
    /** They have their tickets. */
    withTickets() {
      this.committing += this.waiting;
      this.waiting = 0;
    },
  };
  const entries = Array.from({ length: EACH }, () => ({}) as Entry);
  const plan = { id: 'p', entries, atomicity: 'incremental' as const };
  const decider = { decide: () => ({ placed: EACH, more: false, plans: [plan] }) };
  const term = {
    world: { clock: new InstantClock() },
    options: { thinkMs: null },
    stats: { busyMs: 0 },
    signal: ending.signal,
  };
  const jobs = new Map<string, OwnedJob>();
  const loop = new DecisionLoop(term as unknown as Term, {
    decider,
    pipeline,
    runPlan: (job, decided) => void pipeline.run(job, decided),
    jobOf: (key) => jobs.get(key),
    storeTakes: () => storeTakes,
    onPause: () => undefined,
  });
  for (let n = 0; n < JOBS; n++) {
    const key = `default/j${String(n)}`;
    const job = {
      key,
      entries: new Map(),
      undecidable: null,
      namespace: 'default',
      record: { job: { precedence: 50 } },
    } as unknown as OwnedJob;
    jobs.set(key, job);
    loop.push(job);
  }
  const ended = loop.run();
  return {
    ...{ pipeline, loop },
    /** Until the loop waits: each time slice ends with a return to the event loop. */
    settle: () => turns(2 * JOBS),
    end: async () => {
      ending.abort();
      await ended;
    },
  };
}

describe('decision loop', () => {
  it('decides no more than the store takes, and continues when some of it is committed', async () => {
    const { pipeline, loop, settle, end } = worldOf(3 * EACH, 'none');
    await settle();
    expect(pipeline.committing).toBe(3 * EACH);
    pipeline.committing -= 2 * EACH;
    loop.planEnded();
    await settle();
    expect(pipeline.committing).toBe(3 * EACH);
    await end();
  });

  it('does not let a slow arbiter wait for the store, nor the reverse', async () => {
    const { pipeline, loop, settle, end } = worldOf(3 * EACH, 'slow');
    await settle();
    // All wait for their tickets: the bound of all that is under way, and not the store's.
    expect(pipeline.underWay).toBe(ROOM);
    pipeline.withTickets();
    pipeline.committing = 4 * EACH;
    loop.planEnded();
    await settle();
    expect(pipeline.underWay).toBe(4 * EACH);
    pipeline.committing = 2 * EACH;
    loop.planEnded();
    await settle();
    expect(pipeline.waiting).toBe(2_048 - 2 * EACH);
    await end();
  });

  it('S3.48 a job that searches long and places nothing pays for its search', async () => {
    const { turnsOf, end } = pickyWorld({ searchMs: 2, turnsMax: 400 });
    await end;
    // A search counts as 300 placements, a turn of the other 64: without it both would have as many turns.
    expect(turnsOf('plain') / turnsOf('picky')).toBeGreaterThan(4);
    expect(turnsOf('picky')).toBeGreaterThan(20);
  });
});

/** Two namespaces with one job each that is never done: one places at once, the other searches and finds nothing. */
function pickyWorld({ searchMs, turnsMax }: { readonly searchMs: number; readonly turnsMax: number }) {
  const ending = new AbortController();
  const clock = new InstantClock();
  let searchedMs = 0;
  const counted = new Map<string, number>();
  const jobs = new Map(
    ['plain', 'picky'].map((namespace) => {
      const job = {
        key: `${namespace}/job`,
        entries: new Map(),
        undecidable: null,
        namespace,
        record: { job: { precedence: 50 } },
      };
      return [job.key, job as unknown as OwnedJob];
    }),
  );
  let total = 0;
  const decider = {
    decide: ({ namespace }: OwnedJob) => {
      counted.set(namespace, (counted.get(namespace) ?? 0) + 1);
      if (++total >= turnsMax) ending.abort();
      if (namespace === 'picky') searchedMs += searchMs;
      return { placed: namespace === 'picky' ? 0 : EACH, more: true, plans: [] };
    },
  };
  const world = { clock: { ...bound(clock), monotonicMs: () => clock.monotonicMs() + searchedMs } };
  const term = {
    ...{ world, options: { thinkMs: null }, stats: { busyMs: 0 }, signal: ending.signal },
    enqueue: (job: OwnedJob) => loop.push(job),
  };
  const loop = new DecisionLoop(term as unknown as Term, {
    decider,
    pipeline: { underWay: 0, committing: 0, hasRoom: true },
    runPlan: () => undefined,
    jobOf: (key) => jobs.get(key),
    storeTakes: () => Infinity,
    onPause: () => undefined,
  });
  for (const job of jobs.values()) loop.push(job);
  return { turnsOf: (namespace: string) => counted.get(namespace) ?? 0, end: loop.run() };
}

function bound(clock: InstantClock): Clock {
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    after: (delayMs, wake) => clock.after(delayMs, wake),
  };
}
