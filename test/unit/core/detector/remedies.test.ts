import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RemedyState } from '../../../../src/core/detector/verdict.ts';
import { budgetWaitMs } from '../../../../src/core/detector/remedies.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = 10 * HOUR_MS;

const had = (atMs: number, state: RemedyState['state'] = 'applied') => ({
  remedies: [{ remedy: 'quarantine' as const, state, atMs, detail: '' }],
});

describe('S3.40 the budget of remedies', () => {
  it('S3.40 counts what was done within an hour, also when it was undone since, and nothing else', () => {
    const [recent, old] = [NOW_MS - 1_000, NOW_MS - HOUR_MS];
    const wait = (...verdicts: readonly ReturnType<typeof had>[]): number =>
      budgetWaitMs({ perHourMax: 1 }, verdicts, NOW_MS);
    expect(wait()).toBe(0);
    expect(wait(had(old), had(recent, 'refused'), had(recent, 'wanted'))).toBe(0);
    expect(wait(had(recent))).toBe(HOUR_MS - 1_000);
    expect(wait(had(recent, 'undone'))).toBe(HOUR_MS - 1_000);
  });

  it('S3.40 there is room when the wait is over, and not before', () => {
    const ages = fc.array(fc.integer({ min: 0, max: 2 * HOUR_MS }), { maxLength: 40 });
    fc.assert(
      fc.property(ages, fc.integer({ min: 1, max: 20 }), (all, perHourMax) => {
        const verdicts = all.map((ageMs) => had(NOW_MS - ageMs));
        const waitMs = budgetWaitMs({ perHourMax }, verdicts, NOW_MS);
        const within = (atMs: number): number =>
          all.filter((ageMs) => atMs - (NOW_MS - ageMs) < HOUR_MS).length;
        expect(within(NOW_MS + waitMs)).toBeLessThan(perHourMax);
        if (waitMs > 0) expect(within(NOW_MS + waitMs - 1)).toBeGreaterThanOrEqual(perHourMax);
      }),
    );
  });
});
