import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Bucket, BucketRule, Slice } from '../../../../src/core/quota/token-bucket.ts';
import {
  AHEAD_MAX_MS,
  draw,
  leftIn,
  SLICE_MS,
  sliceOf,
  spend,
  tokensIn,
  USE_MS,
} from '../../../../src/core/quota/token-bucket.ts';

const HOUR_MS = 3_600_000;
const START_MS = 1_700_000_000_000;
const SCHEDULERS = 3;

const rules = fc.record({
  burst: fc.integer({ min: 1, max: 60 }),
  perHour: fc.integer({ min: 1, max: 20_000 }),
});
/** How far each clock is from the true time: two of them differ by `AHEAD_MAX_MS` at most. */
const skews = fc.array(fc.integer({ min: -AHEAD_MAX_MS / 2, max: AHEAD_MAX_MS / 2 }), {
  minLength: SCHEDULERS,
  maxLength: SCHEDULERS,
});
const steps = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 20 * 60_000 })),
    who: fc.nat({ max: SCHEDULERS - 1 }),
    what: fc.constantFrom('draw' as const, 'spend' as const, 'spend' as const, 'die' as const),
    amount: fc.integer({ min: 1, max: 5 }),
    /** How much of the time that it has a use takes. */
    late: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  { maxLength: 80 },
);

interface Use {
  readonly atMs: number;
  readonly tokens: number;
}

/** Several schedulers draw of one bucket, spend what they have, use that later, and die with the rest. */
function played(
  rule: BucketRule,
  skew: readonly number[],
  sequence: readonly {
    afterMs: number;
    who: number;
    what: 'draw' | 'spend' | 'die';
    amount: number;
    late: number;
  }[],
) {
  let bucket: Bucket | undefined;
  const slices: (readonly Slice[])[] = Array.from({ length: SCHEDULERS }, () => []);
  const draws: Use[] = [];
  const uses: Use[] = [];
  let atMs = 0;
  for (const { afterMs, who, what, amount, late } of sequence) {
    atMs += afterMs;
    const own = slices[who] ?? [];
    if (what === 'die') slices[who] = [];
    else if (what === 'draw') {
      const wanted = { least: Math.min(amount, rule.burst), most: sliceOf(rule) };
      const drawn = draw(rule, bucket, wanted, START_MS + atMs + (skew[who] ?? 0));
      bucket = drawn.bucket ?? bucket;
      if (drawn.taken > 0) {
        draws.push({ atMs, tokens: drawn.taken });
        slices[who] = [...own, { left: drawn.taken, untilMs: atMs + SLICE_MS }];
      }
    } else {
      const spent = spend(own, amount, atMs);
      if (spent === null) continue;
      slices[who] = spent.slices;
      uses.push({ atMs: atMs + late * (spent.useUntilMs - atMs), tokens: amount });
    }
  }
  return { draws, uses: uses.sort((a, b) => a.atMs - b.atMs) };
}

/** In any window no more than the burst and what came back in it and in `moreMs`. */
function keepsTo({ burst, perHour }: BucketRule, taken: readonly Use[], moreMs: number): void {
  for (const [n, first] of taken.entries()) {
    let sum = 0;
    for (const last of taken.slice(n)) {
      sum += last.tokens;
      const most = burst + (perHour * (last.atMs - first.atMs + moreMs)) / HOUR_MS;
      expect(sum).toBeLessThanOrEqual(most + 1e-6);
    }
  }
}

describe('I76 a bucket that several share', () => {
  it('gives in any time the burst and what came back meanwhile, whoever draws and whatever their clocks say', () => {
    fc.assert(
      fc.property(rules, skews, steps, (rule, skew, sequence) => {
        const { draws, uses } = played(rule, skew, sequence);
        keepsTo(rule, draws, AHEAD_MAX_MS);
        keepsTo(rule, uses, AHEAD_MAX_MS + USE_MS);
        const total = (of: readonly Use[]): number => of.reduce((sum, { tokens }) => sum + tokens, 0);
        // What died with its holder, or was not spent in time, is lost.
        expect(total(uses)).toBeLessThanOrEqual(total(draws));
      }),
    );
  });

  it('says truly when there are tokens again, and is full again at last', () => {
    fc.assert(
      fc.property(
        rules,
        fc.nat({ max: 10 * HOUR_MS }),
        fc.integer({ min: 1, max: 60 }),
        (rule, sinceMs, n) => {
          const least = Math.min(n, rule.burst);
          const empty = draw(rule, undefined, { least: rule.burst, most: rule.burst }, START_MS).bucket;
          if (empty === null) throw new Error('nothing was drawn');
          const nowMs = START_MS + sinceMs;
          const drawn = draw(rule, empty, { least, most: least }, nowMs);
          expect(drawn.taken === least).toBe(tokensIn(rule, empty, nowMs) >= least);
          if (drawn.taken === 0) {
            expect(draw(rule, empty, { least, most: least }, drawn.nextAtMs).taken).toBe(least);
            expect(draw(rule, empty, { least, most: least }, drawn.nextAtMs - 2).taken).toBe(0);
          }
          expect(tokensIn(rule, empty, empty.fullAtMs)).toBe(rule.burst);
        },
      ),
    );
  });

  it('is empty now, and not for long, when a clock that was set far ahead has drawn of it, or it may fill faster', () => {
    const rule = { burst: 10, perHour: 3_600 };
    const ahead = { fullAtMs: START_MS + 24 * HOUR_MS };
    const drawn = draw(rule, ahead, { least: 1, most: 1 }, START_MS);
    expect(drawn).toEqual({ taken: 0, bucket: { fullAtMs: START_MS + 10_000 }, nextAtMs: START_MS + 1_000 });
    expect(draw(rule, drawn.bucket ?? ahead, { least: 1, most: 1 }, START_MS + 1_000).taken).toBe(1);
  });
});

describe('a slice', () => {
  it('is spent by what ends first, as a whole or not, and ends', () => {
    const slices: readonly Slice[] = [
      { left: 2, untilMs: SLICE_MS + 500 },
      { left: 1, untilMs: SLICE_MS },
    ];
    expect(leftIn(slices, 100)).toBe(3);
    expect(spend(slices, 4, 100)).toBeNull();
    expect(spend(slices, 2, 100)).toEqual({
      slices: [{ left: 1, untilMs: SLICE_MS + 500 }],
      useUntilMs: USE_MS,
    });
    expect(leftIn(slices, SLICE_MS)).toBe(2);
    expect(spend(slices, 3, SLICE_MS)).toBeNull();
  });

  it('is an eighth of the burst, one token at least', () => {
    expect([1, 8, 100].map((burst) => sliceOf({ burst, perHour: 1 }))).toEqual([1, 1, 12]);
  });
});
