import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Distribution } from '../../../../../sim/omega/workload/distribution.ts';
import { draw, meanOf, quantileOf, residual } from '../../../../../sim/omega/workload/distribution.ts';
import { seededRandom } from '../../../../../src/core/random/random.ts';

const amount = fc.double({ min: 0.1, max: 1000, noNaN: true });
const simple: fc.Arbitrary<Distribution> = fc.oneof(
  amount.map((value) => ({ kind: 'constant', value }) as const),
  fc.tuple(amount, amount).map(([a, b]) => ({
    ...{ kind: 'log-uniform' as const, least: Math.min(a, b), most: Math.max(a, b) },
  })),
  fc.array(amount, { minLength: 1, maxLength: 20 }).map((values) => ({
    ...{ kind: 'quantiles' as const, values: values.sort((a, b) => a - b) },
  })),
);
const DRAWS = 4_000;

test('the mean of what is drawn is the mean that is told', () => {
  fc.assert(
    fc.property(simple, fc.nat(), (distribution, seed) => {
      const random = seededRandom(seed);
      let sum = 0;
      for (let i = 0; i < DRAWS; i++) sum += draw(distribution, random);
      const spread = distribution.kind === 'constant' ? distribution.value : largest(distribution);
      expect(Math.abs(sum / DRAWS - meanOf(distribution))).toBeLessThan(0.05 * spread + 1e-9);
    }),
    { numRuns: 40 },
  );
});

const largest = (of: Distribution): number =>
  of.kind === 'log-uniform' ? of.most : of.kind === 'quantiles' ? (of.values.at(-1) ?? 0) : 0;

test('exponential and mixed means', () => {
  const random = seededRandom(7);
  const mixed: Distribution = {
    kind: 'mixture',
    parts: [
      { weight: 3, of: { kind: 'exponential', mean: 2 } },
      { weight: 1, of: { kind: 'constant', value: 10 } },
    ],
  };
  expect(meanOf(mixed)).toBe(4);
  let sum = 0;
  for (let i = 0; i < 40_000; i++) sum += draw(mixed, random);
  expect(sum / 40_000).toBeCloseTo(4, 0);
});

test('a quantile lies on the line between its neighbours: below + (above - below), not below + above', () => {
  expect(quantileOf([10, 20], 0.5)).toBe(15);
  expect(quantileOf([0, 10, 100], 0.75)).toBe(55);
  expect(quantileOf([5], 0.3)).toBe(5);
});

test('what is left of a lifetime: all of an exponential one, half of a constant one, and long ones are met more often', () => {
  const random = seededRandom(3);
  const meanLeft = (of: Distribution): number => {
    let sum = 0;
    for (let i = 0; i < 40_000; i++) sum += residual(of, random);
    return sum / 40_000;
  };
  expect(meanLeft({ kind: 'exponential', mean: 8 })).toBeCloseTo(8, 0);
  expect(meanLeft({ kind: 'constant', value: 8 })).toBeCloseTo(4, 1);
  const twoKinds: Distribution = {
    kind: 'mixture',
    parts: [
      { weight: 1, of: { kind: 'exponential', mean: 1 } },
      { weight: 1, of: { kind: 'exponential', mean: 9 } },
    ],
  };
  // Met with weights 1 and 9: (1 * 1 + 9 * 9) / 10.
  expect(meanLeft(twoKinds)).toBeCloseTo(8.2, 0);
});
