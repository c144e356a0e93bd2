import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BINPACK } from '../../../../src/core/scoring/policy.ts';
import { place } from '../../../../src/core/placement/placement.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import { chanceInPartition, PackingChance } from '../../../../schedulers/decide/partition.ts';
import {
  amounts,
  makeCell,
  makeGroup,
  makeHost,
  makeRequest,
} from '../../core/placement/placement-fixtures.ts';

const cases = fc.record({
  seed: fc.integer(),
  parts: fc.integer({ min: 1, max: 12 }),
  bound: fc.integer({ min: 1, max: 2_000 }),
});

describe('a scheduler’s partition of the hosts', () => {
  it('draws within the bound, and partitions of enough hosts never overlap', () => {
    fc.assert(
      fc.property(cases, ({ seed, parts, bound }) => {
        const owners = new Map<number, number>();
        for (let part = 0; part < parts; part++) {
          const chance = chanceInPartition(seededRandom(seed + part), () => ({ index: part, count: parts }));
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

  it('gives every draw to a partition', () => {
    const drawn = new Set<number>();
    for (let part = 0; part < 3; part++) {
      const chance = chanceInPartition(seededRandom(part), () => ({ index: part, count: 3 }));
      for (let draw = 0; draw < 2_000; draw++) drawn.add(chance.below(100));
    }
    expect(drawn.size).toBe(100);
  });

  it('is searched before the rest: no search leaves a partition with capacity', () => {
    const hosts = Array.from({ length: 400 }, (_, n) => makeHost(`h${String(n)}`));
    const request = makeRequest({
      group: makeGroup({ distinct: ['id'] }),
      resources: amounts(100, 1),
      count: 60,
    });
    const taken = new Set<string>();
    for (let part = 0; part < 4; part++) {
      const chance = chanceInPartition(seededRandom(part), () => ({ index: part, count: 4 }));
      for (const { host } of place(makeCell(hosts), request, chance, BINPACK).chosen) taken.add(host);
    }
    expect(taken.size).toBe(4 * 60);
  });

  it('is no part at all for one that is alone', () => {
    const alone = chanceInPartition(seededRandom(7), () => ({ index: 0, count: 1 }));
    const plain = seededRandom(7);
    for (let draw = 0; draw < 50; draw++) expect(alone.below(1_000)).toBe(plain.below(1_000));
  });
});

describe('where the searches of one that packs begin', () => {
  it('are few places, which are visited in turns and keep their part of whatever is searched', () => {
    const chance = new PackingChance(seededRandom(3));
    const starts = Array.from({ length: 8 * 64 }, () => chance.start(10_000));
    expect(new Set(starts.slice(0, 64)).size).toBe(1);
    expect(new Set(starts).size).toBe(8);
    expect(Array.from({ length: 8 * 64 }, () => chance.start(10_000))).toEqual(starts);
    expect(chance.start(5_000)).toBe(Math.floor((starts[0] ?? 0) / 2));
  });

  it('are fewer where the own part is small, so that most hosts stay untouched', () => {
    const placesAmong = (hosts: number, parts: number): number => {
      const chance = new PackingChance(
        chanceInPartition(seededRandom(5), () => ({ index: 0, count: parts })),
      );
      return new Set(Array.from({ length: 8 * 64 }, () => chance.start(hosts))).size;
    };
    expect(placesAmong(10_000, 1)).toBe(8);
    expect(placesAmong(1_213, 4)).toBe(2);
    expect(placesAmong(1_213, 8)).toBe(1);
    expect(placesAmong(3, 1)).toBe(1);
  });

  it('are other points after a redraw', () => {
    const chance = new PackingChance(seededRandom(3));
    const before = chance.start(1_000_000);
    chance.redraw();
    expect(chance.start(1_000_000)).not.toBe(before);
  });

  it('lie within the bound, and in its own part', () => {
    fc.assert(
      fc.property(cases, ({ seed, parts, bound }) => {
        const part = seed & 3;
        const chance = new PackingChance(
          chanceInPartition(seededRandom(seed), () => ({ index: part % parts, count: parts })),
        );
        const start = chance.start(bound);
        expect(start).toBeGreaterThanOrEqual(0);
        expect(start).toBeLessThan(bound);
        const [first, end] = [(bound * (part % parts)) / parts, (bound * ((part % parts) + 1)) / parts];
        expect(start).toBeGreaterThanOrEqual(Math.floor(first));
        expect(start).toBeLessThanOrEqual(Math.ceil(end));
      }),
    );
  });
});
