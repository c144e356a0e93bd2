import { expect, it } from 'vitest';
import { exactTest } from '../../../../src/core/detector/exact-test.ts';

it('S3.21 the exact test is the hypergeometric tail, for small groups and large ones', () => {
  // Fisher's tea: three of four right, and one of four.
  expect(exactTest(3, 1, 1, 3)).toBeCloseTo(17 / 70, 12);
  expect(exactTest(4, 0, 0, 4)).toBeCloseTo(1 / 70, 12);
  expect(exactTest(0, 4, 4, 0)).toBeCloseTo(1, 12);
  expect(exactTest(3, 0, 0, 0)).toBe(1);
  expect(exactTest(500, 500, 500, 500)).toBeCloseTo(0.5178, 3);
});
