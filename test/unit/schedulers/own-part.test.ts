import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../src/core/seeded-random.ts';
import { chanceInPart } from '../../../schedulers/own-part.ts';

const cases = fc.record({
  seed: fc.integer(),
  parts: fc.integer({ min: 1, max: 12 }),
  bound: fc.integer({ min: 1, max: 2_000 }),
});

describe('a scheduler’s own part of the hosts', () => {
  it('draws within the bound, and parts of enough hosts never meet', () => {
    fc.assert(
      fc.property(cases, ({ seed, parts, bound }) => {
        const owners = new Map<number, number>();
        for (let part = 0; part < parts; part++) {
          const chance = chanceInPart(seededRandom(seed + part), () => ({ part, parts }));
          for (let draw = 0; draw < 20; draw++) {
            const value = chance.below(bound);
            expect(value).toBeGreaterThanOrEqual(0);
            expect(value).toBeLessThan(bound);
            if (bound < parts * 16) continue;
            expect(owners.get(value) ?? part).toBe(part);
            owners.set(value, part);
          }
        }
      }),
    );
  });

  it('leaves no draw to nobody', () => {
    const drawn = new Set<number>();
    for (let part = 0; part < 3; part++) {
      const chance = chanceInPart(seededRandom(part), () => ({ part, parts: 3 }));
      for (let draw = 0; draw < 2_000; draw++) drawn.add(chance.below(100));
    }
    expect(drawn.size).toBe(100);
  });

  it('is no part at all for one that is alone', () => {
    const alone = chanceInPart(seededRandom(7), () => ({ part: 0, parts: 1 }));
    const plain = seededRandom(7);
    for (let draw = 0; draw < 50; draw++) expect(alone.below(1_000)).toBe(plain.below(1_000));
  });
});
