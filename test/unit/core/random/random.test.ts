import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { seededRandom } from '../../../../src/core/random/random.ts';

describe('seededRandom', () => {
  it('gives the same numbers for the same seed, for ever', () => {
    const random = seededRandom(42);
    expect([random.below(1_000), random.below(1_000), random.below(1_000)]).toEqual(
      (() => {
        const again = seededRandom(42);
        return [again.below(1_000), again.below(1_000), again.below(1_000)];
      })(),
    );
    expect(Buffer.from(seededRandom(1).bytes(8)).toString('hex')).toBe(GOLDEN);
  });

  it('stays within its bounds', () => {
    fc.assert(
      fc.property(
        fc.maxSafeInteger(),
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        (seed, bound) => {
          const random = seededRandom(seed);
          const drawn = random.below(bound);
          expect(Number.isSafeInteger(drawn) && drawn >= 0 && drawn < bound).toBe(true);
          const fraction = random.fraction();
          expect(fraction >= 0 && fraction < 1).toBe(true);
        },
      ),
    );
  });

  it('draws every number about equally often, also for neighbouring seeds', () => {
    const counts = new Array<number>(10).fill(0);
    for (let seed = 0; seed < 20_000; seed++) {
      const drawn = seededRandom(seed).below(10);
      counts[drawn] = (counts[drawn] ?? 0) + 1;
    }
    for (const count of counts) expect(Math.abs(count - 2_000)).toBeLessThan(250);
  });

  it('a split stream depends on the seed and the label, not on what was drawn before', () => {
    const draw = (random: { below(bound: number): number }): number[] =>
      Array.from({ length: 5 }, () => random.below(1_000_000));
    const fresh = seededRandom(9);
    const used = seededRandom(9);
    used.bytes(100);
    expect(draw(used.split('net'))).toEqual(draw(fresh.split('net')));
    expect(draw(fresh.split('net'))).not.toEqual(draw(fresh.split('disk')));
    expect(draw(seededRandom(10).split('net'))).not.toEqual(draw(fresh.split('net')));
  });

  it('refuses a bound that is no whole number from 1', () => {
    for (const bound of [0, -1, 1.5, NaN]) expect(() => seededRandom(1).below(bound)).toThrow('bound');
  });
});

const GOLDEN = '3b6c76d56bb63b71';
