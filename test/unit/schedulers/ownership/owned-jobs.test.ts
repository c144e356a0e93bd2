import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Term } from '../../../../schedulers/state/state.ts';
import { OwnedJob } from '../../../../schedulers/state/owned-job.ts';
import type { OwnedJobsParts } from '../../../../schedulers/ownership/owned-jobs.ts';
import { OwnedJobs } from '../../../../schedulers/ownership/owned-jobs.ts';
import type { JobAtRevision } from '../../../../schedulers/ownership/job-index.ts';
import type { Attempt, CellStore } from '../../../../src/ports/cell-store.ts';
import { StoreError } from '../../../../src/ports/cell-store.ts';
import { withCalls } from '../../../support/changed-store.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

describe('a job whose work is done', () => {
  let world: CellWorld;

  beforeEach(() => {
    world = new CellWorld();
  });
  afterEach(() => world.close());

  /** Fails each attempt to give up a job until `mayGive` says so. */
  function refusing(store: CellStore, mayGive: () => boolean): CellStore {
    const attempt = async (asked: Attempt) => {
      const givesUp = asked.writes.some(({ kind, key }) => kind === 'delete' && key.startsWith(keys.owners));
      if (givesUp && !mayGive()) throw new StoreError('no-space', 'no space', { retryable: true });
      return await store.attempt(asked);
    };
    return withCalls(store, { attempt });
  }

  it('is given up once the store takes it, however often it did not', async () => {
    let asked = 0;
    const member = await world.scheduler({ id: 'batch-1' }, (store) => refusing(store, () => ++asked > 3));
    await world.host('h1');
    await world.submit(makeJob('sum'), 1, 'stop');
    await world.until(() => asked > 3, 'the fourth try');
    await world.until(() => world.owners().length === 0, 'the owner key is gone');
    expect(member.events.filter(({ kind }) => kind === 'finished').length).toBe(1);
  });

  it('is claimed again when it is submitted again', async () => {
    const member = await world.scheduler({ id: 'batch-1' });
    const host = await world.host('h1');
    await world.submit(makeJob('sum'), 1, 'stop');
    await world.until(() => member.events.some(({ kind }) => kind === 'finished'), 'the end');
    await world.submit(makeJob('sum'), 2);
    await world.until(() => host.running.length === 1, 'its second version runs');
    expect(world.owners()).toEqual(['default/sum']);
  });
});

describe('a job that is to stop, and is partly loaded', () => {
  const record = { job: makeJob('web'), version: 1, desired: 'stop', submittedAtMs: 1 } as const;
  let job: OwnedJob;
  let given: number;
  let decisions: number;
  let jobs: OwnedJobs;

  beforeEach(() => {
    [given, decisions] = [0, 0];
    job = new OwnedJob(record, 1, 1);
    const term = {
      emit: () => undefined,
      enqueue: () => (decisions += job.stale ? 0 : 1),
      options: { learnedMix: null },
    } as unknown as Term;
    jobs = new OwnedJobs(term, {
      table: { get: () => job },
      parking: { leave: () => undefined },
      giveUp: () => Promise.resolve((given += 1) > 0),
    } as unknown as OwnedJobsParts);
    job.partlyLoaded = true;
  });

  it('I55 is not given up before all of it is loaded', async () => {
    await jobs.finish(job, 'stopped');
    expect(given).toBe(0);
    job.partlyLoaded = false;
    await jobs.finish(job, 'stopped');
    expect(given).toBe(1);
  });

  it('I53 is read before it is decided when it is to run again', () => {
    const row = { value: { ...record, version: 2, desired: 'run' }, modRevision: 2 } as JobAtRevision;
    jobs.changed(job.key, row);
    expect([job.stale, decisions]).toEqual([true, 0]);
  });
});
