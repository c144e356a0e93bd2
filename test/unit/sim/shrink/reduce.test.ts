import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reduce } from '../../../../sim/shrink/reduce.ts';

const needs =
  (wanted: readonly number[]) =>
  (items: readonly number[]): Promise<boolean> =>
    Promise.resolve(wanted.every((one) => items.includes(one)));

describe('reduce', () => {
  it('finds exactly the items that are needed, in their order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat(40), { maxLength: 40 }), fc.nat(), async (items, pick) => {
        const wanted = items.filter((item) => (item * 31 + pick) % 7 === 0);
        expect(await reduce(items, needs(wanted), 10_000)).toEqual(wanted);
      }),
    );
  });

  it('asks no more often than it may, and then returns what it has', async () => {
    let asked = 0;
    const items = Array.from({ length: 64 }, (_, n) => n);
    const fails = (rest: readonly number[]): Promise<boolean> => {
      asked += 1;
      return needs([3, 60])(rest);
    };
    const kept = await reduce(items, fails, 9);
    expect(asked).toBeLessThanOrEqual(9);
    expect(await needs([3, 60])(kept)).toBe(true);
  });
});
