import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RateQueue } from '../../../../src/core/quota/rate-queue.ts';

const rates = fc.integer({ min: 1, max: 100_000 });
const asks = fc.array(
  fc.record({ sinceBeforeMs: fc.integer({ min: 0, max: 200 }), amount: fc.integer({ min: 1, max: 1_000 }) }),
  { minLength: 1, maxLength: 60 },
);

interface Part {
  readonly askedMs: number;
  readonly atMs: number;
  readonly amount: number;
}

function given(perSecond: number, sequence: readonly { sinceBeforeMs: number; amount: number }[]): Part[] {
  const queue = new RateQueue(0);
  let nowMs = 0;
  return sequence.map(({ sinceBeforeMs, amount }) => {
    nowMs += sinceBeforeMs;
    return { askedMs: nowMs, atMs: queue.take(amount, perSecond, nowMs), amount };
  });
}

describe('an amount per second, handed out in parts', () => {
  it('S3.35 between any two parts no more begins than the rate allows for the time between them', () => {
    fc.assert(
      fc.property(rates, asks, (perSecond, sequence) => {
        const parts = given(perSecond, sequence);
        for (const [n, first] of parts.entries()) {
          let begun = 0;
          for (const last of parts.slice(n)) {
            expect(begun).toBeLessThanOrEqual(((last.atMs - first.atMs) * perSecond) / 1_000 + 1e-6);
            begun += last.amount;
          }
        }
      }),
    );
  });

  it('S3.35 none waits longer than what was given before takes, and none begins before it is asked for', () => {
    fc.assert(
      fc.property(rates, asks, (perSecond, sequence) => {
        let before = 0;
        for (const { askedMs, atMs, amount } of given(perSecond, sequence)) {
          expect(atMs).toBeGreaterThanOrEqual(askedMs);
          expect(atMs - askedMs).toBeLessThanOrEqual((before * 1_000) / perSecond + 1e-6);
          before += amount;
        }
      }),
    );
  });
});
