import { describe, expect, it } from 'vitest';
import type { Near } from '../../../../src/core/cell/interference.ts';
import type { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import { place } from '../../../../src/core/placement/placement.ts';
import { scorePartsOf } from '../../../../src/core/placement/score-parts.ts';
import { BINPACK, LEVEL } from '../../../../src/core/scoring/policy.ts';
import type { PlacementPolicy } from '../../../../src/core/scoring/policy.ts';
import { rankByWalk } from '../../../support/placement-walk.ts';
import {
  amounts,
  chanceOf,
  makeCell,
  makeClaim,
  makeGroup,
  makeHost,
  makeRequest,
} from './placement-fixtures.ts';

function cellOf(hosts: number): CellState {
  return makeCell(
    Array.from({ length: hosts }, (_, n) =>
      makeHost(`h${String(n)}`, { attributes: { rack: `r${String(n % 10)}` } }),
    ),
  );
}

function put(state: CellState, host: number, name: string, cpuMilli = 10): void {
  const resources = { ...amounts(cpuMilli, 10), scalars: { [`class.${name}`]: 1 } };
  const id = `${name}-${String(host)}-${String(state.inFlight)}`;
  state.assume(makeClaim(id, `h${String(host)}`, { resources }));
}

function hostsFor(state: CellState, near: readonly Near[], policy: PlacementPolicy, count = 1) {
  const request = makeRequest({ group: makeGroup({ near }), count });
  return place(state, request, chanceOf(7), policy).chosen.map(({ host }) => host);
}

describe('S3.17: what a group would rather have beside it', () => {
  it('outweighs any load with a weight of 100, and not with a small one', () => {
    const state = cellOf(40);
    put(state, 3, 'cache', 2_000);
    expect(hostsFor(state, [{ class: 'cache', weight: 100 }], LEVEL)).toEqual(['h3']);
    expect(hostsFor(state, [{ class: 'cache', weight: 1 }], LEVEL)).not.toEqual(['h3']);
    expect(hostsFor(state, [{ class: 'nobody', weight: 100 }], LEVEL)).toHaveLength(1);
  });

  it('goes on elsewhere when the host is full, first in its rack when that is said, too', () => {
    const state = cellOf(40);
    put(state, 3, 'cache', 2_500);
    const near: Near[] = [
      { class: 'cache', weight: 60 },
      { class: 'cache', over: 'rack', weight: 50 },
    ];
    const hosts = hostsFor(state, near, BINPACK, 16);
    expect(hosts[0]).toBe('h3');
    for (const host of hosts.slice(0, 13)) expect(Number(host.slice(1)) % 10).toBe(3);
    expect(hosts).toHaveLength(16);
    expect(hosts.slice(13).every((host) => Number(host.slice(1)) % 10 !== 3)).toBe(true);
  });

  it('is part of what a single host is worth to the group, for a rebalance', () => {
    const state = cellOf(10);
    put(state, 1, 'cache');
    const near: Near[] = [
      { class: 'cache', weight: 60 },
      { class: 'cache', over: 'rack', weight: 30 },
    ];
    const request = makeRequest({ group: makeGroup({ near }) });
    const [there, elsewhere] = scorePartsOf(state, request, BINPACK, ['h1', 'h2']);
    expect([there?.preference, elsewhere?.preference]).toEqual([expect.closeTo(0.9), 0]);
  });

  it('finds the best host by the walk for more classes, each on many hosts, than trees are kept for', () => {
    const state = cellOf(200);
    const policy = { ...BINPACK, sample: Infinity };
    for (let name = 0; name < 24; name++)
      for (let host = name; host < 200; host += 2) put(state, host, `c${String(name)}`, 1 + name);
    for (let n = 0; n < 48; n++) {
      const near = [{ class: `c${String(n % 24)}`, weight: 40 }];
      const request = makeRequest({ group: makeGroup({ near }) });
      const ranks = rankByWalk(state, request, policy);
      const [host = ''] = hostsFor(state, near, policy);
      expect(ranks.get(host)).toBeCloseTo(Math.max(...ranks.values()), 9);
    }
  });
});
