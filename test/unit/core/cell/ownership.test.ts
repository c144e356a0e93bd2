import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ownerRank, STEP_IN_MAX_MS, stepInDelayMs } from '../../../../src/core/cell/ownership.ts';

const name = fc.stringMatching(/^[a-z0-9-]{1,12}$/);

describe('the order of the schedulers of a job', () => {
  it('is the same for all of them, and each has a place of its own', () => {
    fc.assert(
      fc.property(name, fc.uniqueArray(name, { minLength: 1, maxLength: 16 }), (job, schedulers) => {
        const ranks = schedulers.map((self) => ownerRank(job, schedulers, self)).sort((a, b) => a - b);
        expect(ranks).toEqual([...schedulers.keys()]);
      }),
    );
  });

  it('moves only the jobs of the one that left', () => {
    fc.assert(
      fc.property(name, fc.uniqueArray(name, { minLength: 2, maxLength: 8 }), (job, schedulers) => {
        const [gone, ...rest] = schedulers as [string, ...string[]];
        const firstOf = (all: readonly string[]) => all.find((self) => ownerRank(job, all, self) === 0);
        const before = firstOf(schedulers);
        if (before !== gone) expect(firstOf(rest)).toBe(before);
      }),
    );
  });

  it('S3.49 spreads jobs about evenly', () => {
    const schedulers = ['batch-1', 'batch-2', 'batch-3', 'batch-4'];
    const counts = new Map(schedulers.map((self) => [self, 0]));
    for (let i = 0; i < 4_000; i++) {
      const first =
        schedulers.find((self) => ownerRank(`default/job-${String(i)}`, schedulers, self) === 0) ?? '';
      counts.set(first, (counts.get(first) ?? 0) + 1);
    }
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(150);
  });

  it('lets the first act at once and the last wait a bounded time', () => {
    expect(stepInDelayMs(0)).toBe(0);
    expect(stepInDelayMs(1)).toBeLessThan(stepInDelayMs(2));
    expect(stepInDelayMs(1_000)).toBe(STEP_IN_MAX_MS);
  });
});
