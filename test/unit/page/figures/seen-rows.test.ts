import { expect, it } from 'vitest';
import { seenRows } from '../../../../page/figures/seen-rows.ts';

const sight = { height: 320, rowHeight: 32 };

it('28 of 100,000 rows those in sight are made, and a few around them, wherever the list stands', () => {
  for (const scrollTop of [0, 31, 32, 1_600_000, 3_199_680, 9_999_999]) {
    const { first, end } = seenRows(100_000, { ...sight, scrollTop });
    expect(end - first).toBeLessThanOrEqual(27);
    expect(first).toBeGreaterThanOrEqual(0);
    expect(end).toBeLessThanOrEqual(100_000);
    const inSight = Math.min(99_999, Math.floor(scrollTop / 32));
    if (scrollTop < 3_200_000) expect(first <= inSight && inSight < end).toBe(true);
  }
});

it('28 a list that has become shorter than where it stood shows its end', () => {
  expect(seenRows(3, { ...sight, scrollTop: 5_000 })).toEqual({ first: 0, end: 3 });
  expect(seenRows(100, { ...sight, scrollTop: 5_000 })).toEqual({ first: 82, end: 100 });
  expect(seenRows(0, { ...sight, scrollTop: 5_000 })).toEqual({ first: 0, end: 0 });
});
