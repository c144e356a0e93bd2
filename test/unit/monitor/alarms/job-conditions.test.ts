import { expect, it } from 'vitest';
import { conditionsOfJob } from '../../../../monitor/alarms/job-conditions.ts';
import { NO_RESTARTS } from '../../../../src/core/slots/restarts.ts';
import type { JobSummary } from '../../../../src/wire/api/monitor-api.ts';

const COUNTS = { desired: 3, placed: 3, running: 3, ready: 3, complete: 0, failed: 0 };
const WELL: JobSummary = {
  ...{ namespace: 'default', name: 'web', type: 'service', precedence: 50, version: 1, desired: 'run' },
  ...{ owner: 's1', submittedAtMs: 0, oneOff: false, phase: 'running', counts: COUNTS },
  restarts: NO_RESTARTS,
};

function kindsOf(change: Partial<JobSummary>, counts: Partial<JobSummary['counts']> = {}): string[] {
  const summary = { ...WELL, ...change, counts: { ...COUNTS, ...counts } };
  return conditionsOfJob(summary, 1_000_000, 100).map(({ kind, detail }) => `${kind}: ${detail}`);
}

it('a job waits while it lacks hosts, and what ended for good lacks none', () => {
  expect(kindsOf({})).toEqual([]);
  expect(kindsOf({ phase: 'pending' }, { placed: 1, running: 1 })).toEqual([
    'waiting: 2 allocations without a host',
  ]);
  expect(kindsOf({ type: 'batch' }, { placed: 1, running: 1, complete: 1, failed: 1 })).toEqual([]);
  expect(kindsOf({ type: 'service' }, { placed: 2, failed: 1 })).toEqual([
    'waiting: 1 allocation without a host',
  ]);
  expect(kindsOf({ phase: 'complete' }, { placed: 0 })).toEqual([]);
});

it('a job that is to stop waits for no host, but for its end', () => {
  expect(kindsOf({ desired: 'stop' }, { desired: 0, placed: 2 })).toEqual([
    'stopping: 2 allocations still placed, though the job is to stop',
  ]);
  expect(kindsOf({ desired: 'stop' }, { desired: 0, placed: 0 })).toEqual([]);
});

it('a job that ends soon after each start loops', () => {
  const restarts = {
    ...NO_RESTARTS,
    count: 7,
    most: 7,
    waiting: 1,
    lastAtMs: 999_000,
    lastExit: { code: 3 },
  };
  expect(kindsOf({ restarts })).toEqual(['looping: started again 7 times, last exit 3']);
});
