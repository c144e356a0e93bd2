import { beforeEach, describe, expect, it } from 'vitest';

import { JobTable } from '../../../../schedulers/state/job-table.ts';
import { JobTimers, TIMER_MAX_MS } from '../../../../schedulers/state/job-timers.ts';
import { Entry, OwnedJob } from '../../../../schedulers/state/owned-job.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { testAllocation } from '../../../support/commit-world.ts';
import { makeJob } from '../cell-world.ts';

describe('when a job is looked at', () => {
  let clock: ManualClock;
  let book: JobTable;
  let looks: JobTimers;
  /** Jobs whose turn was asked for, in order. */
  let pushed: string[];

  beforeEach(() => {
    clock = new ManualClock();
    book = new JobTable();
    pushed = [];
    looks = new JobTimers(clock, book, (job) => pushed.push(job.name));
  });

  function owned(name: string, type: 'batch' | 'system' = 'batch', host?: string): OwnedJob {
    const record = { job: makeJob(name, { type }), version: 1, desired: 'run' as const, submittedAtMs: 0 };
    const job = new OwnedJob(record, 1, 1);
    book.add(job);
    if (host === undefined) return job;
    const allocation = testAllocation(`${name}-1`, host, { job: name });
    const entry = new Entry(allocation, 1, 'started');
    job.entries.set(allocation.id, entry);
    book.index(job, entry);
    return job;
  }

  it('not while it is read anew, nor when it is another scheduler’s', () => {
    const job = owned('a');
    job.stale = true;
    looks.enqueue(job);
    job.stale = false;
    job.dropped = true;
    looks.enqueue(job);
    looks.enqueueAfter(job, 1);
    expect({ pushed, timers: clock.pending }).toEqual({ pushed: [], timers: 0 });
  });

  it('once, at the earliest of the times that were asked for', async () => {
    const job = owned('a');
    looks.enqueueAfter(job, 500);
    looks.enqueueAfter(job, 100);
    looks.enqueueAfter(job, 900);
    expect(clock.pending).toBe(1);
    await clock.advance(99);
    expect(pushed).toEqual([]);
    await clock.advance(1_000);
    expect(pushed).toEqual(['a']);
    looks.enqueueAfter(job, 10);
    await clock.advance(10);
    expect(pushed).toEqual(['a', 'a']);
  });

  it('later than now, and no later than a timer can wait', async () => {
    const job = owned('a');
    looks.enqueueAfter(job, 0);
    expect(pushed).toEqual([]);
    await clock.advance(1);
    expect(pushed).toEqual(['a']);
    looks.enqueueAfter(job, Number.POSITIVE_INFINITY);
    await clock.advance(TIMER_MAX_MS);
    expect(pushed).toEqual(['a', 'a']);
  });

  it('when a host it is on has changed, and system jobs with every host', () => {
    owned('here', 'batch', 'h1');
    owned('elsewhere', 'batch', 'h2');
    owned('everywhere', 'system');
    looks.hostChanged('h1');
    expect(pushed).toEqual(['here', 'everywhere']);
    pushed.length = 0;
    looks.enqueueSystemJobs();
    expect(pushed).toEqual(['everywhere']);
    pushed.length = 0;
    looks.enqueueAll();
    expect(pushed).toEqual(['here', 'elsewhere', 'everywhere']);
  });
});
