import { expect, it } from 'vitest';
import { share } from '../../../../page/figures/figures.ts';
import { isWaiting, jobMatches } from '../../../../page/figures/job-matches.ts';
import { NO_RESTARTS } from '../../../../src/core/slots/restarts.ts';
import type { JobSummary } from '../../../../src/wire/api/monitor-api.ts';

const job: JobSummary = {
  ...{ namespace: 'team-a', name: 'web', type: 'service', precedence: 50, version: 1, desired: 'run' },
  ...{ owner: 'service-1', submittedAtMs: 0, oneOff: false, phase: 'running', restarts: NO_RESTARTS },
  counts: { desired: 3, placed: 2, running: 2, complete: 0, failed: 0 },
};

it('28 a filter lets through what has every word of it, in any order and case', () => {
  for (const filter of ['', 'WEB', 'running team-a', 'service-1 web', 'team-a/web'])
    expect(jobMatches(job, filter), filter).toBe(true);
  for (const filter of ['web batch', 'team-b']) expect(jobMatches(job, filter), filter).toBe(false);
});

it('28 a job waits while something that is wanted has no place', () => {
  expect(isWaiting(job)).toBe(true);
  expect(isWaiting({ ...job, counts: { ...job.counts, placed: 3 } })).toBe(false);
  expect(isWaiting({ ...job, counts: { ...job.counts, complete: 1 } })).toBe(false);
  expect(isWaiting({ ...job, desired: 'stop' })).toBe(false);
  expect(isWaiting({ ...job, phase: 'complete' })).toBe(false);
});

it('28 a share is between nothing and all, of nothing nothing', () => {
  expect([share(1, 4), share(5, 4), share(-1, 4), share(1, 0)]).toEqual([0.25, 1, 0, 0]);
});
