import { expect, it } from 'vitest';
import { Entry, OwnedJob } from '../../../../schedulers/state/owned-job.ts';
import { testAllocation } from '../../../support/commit-world.ts';
import { makeJob } from '../cell-world.ts';

it('a job keeps its newest versions and those that something runs, however many it has', () => {
  const job = new OwnedJob({ job: makeJob('web'), version: 10_000, desired: 'run', submittedAtMs: 1 }, 1, 1);
  const allocation = testAllocation('web-1', 'h1', { jobVersion: 7 });
  job.entries.set(allocation.id, new Entry(allocation, 1, 'started'));
  for (let version = 1; version < 10_000; version++) job.keepVersion(version, makeJob('web'));
  expect(job.versions.size).toBeLessThan(100);
  expect(job.versions.has(7)).toBe(true);
  for (let version = 9_970; version < 10_000; version++) expect(job.versions.has(version)).toBe(true);
});
