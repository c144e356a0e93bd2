import { describe, expect, it } from 'vitest';
import type { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import { chanceFor } from '../../../../schedulers/decide/partition.ts';
import { place } from '../../../../src/core/placement/placement.ts';
import { warmthOf } from '../../../../src/core/quota/shared-resource.ts';
import { BINPACK } from '../../../../src/core/scoring/policy.ts';
import {
  amounts,
  chanceOf,
  claimOf,
  expr,
  makeCell,
  makeGroup,
  makeHost,
  makeRequest,
  makeShared,
} from './placement-fixtures.ts';

const RACKS = 20;
const HOSTS_EACH = 20;
const WATTS = 10_000;

const rackOf = (n: number): string => `r${String(Math.floor(n / HOSTS_EACH))}`;

function cellOfRacks(): CellState {
  const state = makeCell(
    Array.from({ length: RACKS * HOSTS_EACH }, (_, n) =>
      makeHost(`h${String(n)}`, {
        capacity: amounts(32_000, 131_072, 1_000),
        attributes: { rack: rackOf(n), zone: n % 2 === 0 ? 'z0' : 'z1' },
      }),
    ),
  );
  state.pools.define('power', makeShared('power', 'host.rack', WATTS), 1);
  return state;
}

interface HotSpots {
  /** Of the hottest rack, as a part of what it has. */
  readonly most: number;
  readonly mean: number;
  /** Hosts with work. */
  readonly hosts: number;
}

/**
 * Tasks of 20 to 200 W that pack, each as large as suits its power, until the racks' power is used to the part.
 * @param asks false: they do not say what power they take
 */
function packed(part: number, asks: boolean, seed: number, count = 1): HotSpots {
  const state = cellOfRacks();
  const random = chanceOf(seed);
  const chance = chanceFor(BINPACK.score, random, () => ({ index: 0, count: 1 }));
  const used = new Map<string, number>();
  const hosts = new Set<string>();
  for (let sum = 0, n = 0; sum < part * RACKS * WATTS;) {
    const watts = 20 * (1 + random.below(10));
    const request = makeRequest({
      ...{ resources: amounts(10 * watts, 20 * watts), count },
      ...(asks ? { shared: { power: watts } } : {}),
    });
    for (const placement of place(state, request, chance, BINPACK).chosen) {
      state.assume(claimOf(`c${String(n++)}`, placement, request, state));
      const rack = rackOf(Number(placement.host.slice(1)));
      used.set(rack, (used.get(rack) ?? 0) + watts);
      hosts.add(placement.host);
      sum += watts;
    }
  }
  const all = [...used.values()];
  const mean = all.reduce((sum, one) => sum + one, 0) / RACKS / WATTS;
  return { most: Math.max(...all) / WATTS, mean, hosts: hosts.size };
}

describe('S3.34: packing avoids hot spots of power and cooling', () => {
  it.each([0.6, 0.75, 0.9])(
    'with %f of all power in use, no rack is far above the others, and few more hosts have work',
    (part) => {
      const before = packed(part, false, 1);
      const after = packed(part, true, 1);
      expect(after.most).toBeLessThanOrEqual(1);
      expect(after.most / after.mean).toBeLessThan(1.15);
      expect(before.most / before.mean).toBeGreaterThan(1.2);
      expect(after.hosts).toBeLessThan(1.3 * before.hosts);
    },
  );

  it('also within one decision for many', () => {
    const { most, mean } = packed(0.75, true, 2, 50);
    expect(most / mean).toBeLessThan(1.15);
  });

  it('a rack that is less than half used is filled as without a pool', () => {
    expect(warmthOf(0, WATTS)).toBe(0);
    expect(warmthOf(WATTS / 2 - 1, WATTS)).toBe(0);
    expect(warmthOf(WATTS / 2, WATTS)).toBe(1);
    expect(warmthOf(WATTS, WATTS)).toBe(9);
  });

  it('a warm rack is used when a constraint leaves no other', () => {
    const state = cellOfRacks();
    for (let n = 0; n < RACKS; n++) state.pools.observe(`power/r${String(n)}`, n === 3 ? 9_000 : 0, 2);
    const group = makeGroup({ constraints: [expr('rack', '==', 'r3')] });
    const request = makeRequest({ shared: { power: 500 }, group });
    expect(place(state, request, chanceOf(1), BINPACK).chosen).toHaveLength(1);
    const elsewhere = place(state, makeRequest({ shared: { power: 500 } }), chanceOf(1), BINPACK).chosen[0];
    expect(rackOf(Number(elsewhere?.host.slice(1)))).not.toBe('r3');
  });
});
