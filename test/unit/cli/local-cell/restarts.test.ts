import { describe, expect, it } from 'vitest';
import { Restarts } from '../../../../cli/local-cell/restarts.ts';

describe('restarts', () => {
  it('are at once after a life of some time, and after the first short one', () => {
    const restarts = new Restarts();
    expect([60_000, 5_000, 100].map((livedMs) => restarts.ended(livedMs))).toEqual([0, 0, 0]);
  });

  it('come later and later while lives are short, and never stop to come', () => {
    const restarts = new Restarts();
    const waits = Array.from({ length: 12 }, () => restarts.ended(100));
    expect(waits.slice(0, 8)).toEqual([0, 250, 500, 1_000, 2_000, 4_000, 8_000, 15_000]);
    expect(waits.slice(8)).toEqual([15_000, 15_000, 15_000, 15_000]);
    expect(restarts.early).toBe(12);
  });

  it('are at once again after it lived', () => {
    const restarts = new Restarts();
    for (let n = 0; n < 6; n++) restarts.ended(100);
    expect(restarts.ended(6_000)).toBe(0);
    expect(restarts.early).toBe(0);
    expect(restarts.ended(100)).toBe(0);
  });
});
