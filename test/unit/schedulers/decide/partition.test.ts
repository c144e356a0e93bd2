import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import type { Chance } from '../../../../src/core/random/chance.ts';
import { BINPACK, SERVICE } from '../../../../src/core/scoring/policy.ts';
import { place } from '../../../../src/core/placement/placement.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import { chanceInPartition, PackingChance } from '../../../../schedulers/decide/partition.ts';
import {
  amounts,
  makeCell,
  makeClaim,
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

  describe('in a cell that is nearly full', () => {
    const hosts = Array.from({ length: 400 }, (_, n) => makeHost(`h${String(n)}`));
    const one = amounts(100, 1);
    const ownPart = (part: number, seed = part): Chance =>
      chanceInPartition(seededRandom(seed), () => ({ index: part, count: 4 }));

    /** All hosts are full but those whose number the function names, which have so much left. */
    function nearlyFull(leftOf: (index: number) => number): CellState {
      const state = makeCell(hosts);
      for (const { id, capacity } of hosts) {
        const cpuMilli = capacity.cpuMilli - leftOf(state.indexOf(id));
        state.assume(makeClaim(id, id, { resources: { ...capacity, cpuMilli, memoryMib: 0, diskMib: 0 } }));
      }
      return state;
    }

    it('schedulers choose different ones of the last hosts, though the same one is the best for all', () => {
      // In each part the hosts 10, 30, ... have something left; host 150 is the fullest of them.
      const leftOf = (index: number): number => (index % 20 === 10 ? (index === 150 ? 100 : 200) : 0);
      const request = makeRequest({ resources: one });
      const taken = [0, 1, 2, 3].map((part) => {
        const state = nearlyFull(leftOf);
        const [chosen] = place(state, request, ownPart(part), BINPACK).chosen;
        return Math.floor(state.indexOf(chosen?.host ?? '') / 100);
      });
      expect(taken).toEqual([0, 1, 2, 3]);
    });

    it('visitors of a part that its own scheduler leaves empty begin apart', () => {
      const chosen = [0, 2, 3].map((part) => {
        const state = nearlyFull((index) => (index >= 100 && index < 200 ? 4000 : 0));
        const packing = new PackingChance(ownPart(part, part + 11));
        return place(state, makeRequest({ resources: one }), packing, BINPACK).chosen[0]?.host;
      });
      expect(new Set(chosen).size).toBe(3);
    });

    it('S3.15 a scheduler whose own part is full finds the last host wherever it is', () => {
      for (const last of [0, 99, 150, 399]) {
        const state = nearlyFull((index) => (index === last ? 100 : 0));
        for (const part of [0, 1, 2, 3]) {
          const [chosen] = place(state, makeRequest({ resources: one }), ownPart(part), BINPACK).chosen;
          expect(state.indexOf(chosen?.host ?? '')).toBe(last);
        }
      }
    });

    it('copies of a service go to other parts rather than beside each other', () => {
      const state = nearlyFull((index) => (index === 5 || index === 305 ? 4000 : 0));
      const held = hosts.filter(({ id }) => state.indexOf(id) === 5).map(({ id }) => state.known(id));
      const request = makeRequest({ resources: one, hostsHeld: held });
      const [chosen] = place(state, request, ownPart(0), SERVICE).chosen;
      expect(state.indexOf(chosen?.host ?? '')).toBe(305);
    });
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
