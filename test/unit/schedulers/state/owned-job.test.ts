import { expect, it } from 'vitest';
import { Entry, OwnedJob } from '../../../../schedulers/state/owned-job.ts';
import { testAllocation } from '../../../support/commit-world.ts';
import { outcomeOf } from '../../../support/history-world.ts';
import { makeJob } from '../cell-world.ts';

it('I14 a job keeps its newest versions and those that something names, however many it has', () => {
  const job = new OwnedJob({ job: makeJob('web'), version: 10_000, desired: 'run', submittedAtMs: 1 }, 1, 1);
  const of = (jobVersion: number) => testAllocation(`web-${String(jobVersion)}`, 'h1', { jobVersion });
  const placed = of(7);
  job.entries.set(placed.id, new Entry(placed, 1, 'started'));
  job.addOutcome(outcomeOf(of(8)));
  job.unrecorded = [{ allocation: of(9), report: null }];
  for (let version = 1; version < 10_000; version++) job.keepVersion(version, makeJob('web'));
  expect(job.versions.size).toBeLessThan(100);
  for (const { versions } of [job, job.copy()]) {
    for (const version of [7, 8, 9]) expect(versions.has(version)).toBe(true);
    for (let version = 9_970; version < 10_000; version++) expect(versions.has(version)).toBe(true);
  }
});
