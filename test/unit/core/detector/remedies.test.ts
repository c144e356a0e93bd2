import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { takeRemedy } from '../../../../src/core/detector/remedies.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = 10 * HOUR_MS;

describe('S3.40 the budget of remedies', () => {
  it('S3.40 counts those of the last hour, each once', () => {
    const budget = { perHourMax: 1 };
    expect(takeRemedy(budget, {}, 'a', NOW_MS)).toEqual({ a: NOW_MS });
    expect(takeRemedy(budget, { a: NOW_MS - HOUR_MS }, 'b', NOW_MS)).toEqual({ b: NOW_MS });
    expect(takeRemedy(budget, { a: NOW_MS - 1 }, 'b', NOW_MS)).toBeNull();
    expect(takeRemedy(budget, { a: NOW_MS - 1 }, 'a', NOW_MS)).toEqual({ a: NOW_MS - 1 });
    // Another monitor's clock may be ahead.
    expect(takeRemedy(budget, { a: NOW_MS + 5_000 }, 'b', NOW_MS)).toBeNull();
  });

  it('S3.40 no hour has more than there may be, whatever is asked for and when', () => {
    const asks = fc.array(
      fc.record({ afterMs: fc.integer({ min: 0, max: HOUR_MS / 2 }), name: fc.integer({ min: 0, max: 30 }) }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(asks, fc.integer({ min: 1, max: 5 }), (all, perHourMax) => {
        let taken: Readonly<Record<string, number>> = {};
        const granted: { name: string; atMs: number }[] = [];
        let nowMs = NOW_MS;
        for (const ask of all) {
          nowMs += ask.afterMs;
          const name = String(ask.name);
          const isNew = !(name in taken) || nowMs - (taken[name] ?? 0) >= HOUR_MS;
          const next = takeRemedy({ perHourMax }, taken, name, nowMs);
          if (next === null) continue;
          taken = next;
          if (isNew) granted.push({ name, atMs: nowMs });
        }
        for (const { atMs } of granted)
          expect(
            granted.filter((other) => other.atMs >= atMs && other.atMs - atMs < HOUR_MS).length,
          ).toBeLessThanOrEqual(perHourMax);
      }),
    );
  });
});
