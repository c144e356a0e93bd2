import { describe, expect, it } from 'vitest';
import { compileOptions, policyText } from '../../../../schedulers/policies/options.ts';
import { place } from '../../../../src/core/placement/placement.ts';
import type { ScoreHost } from '../../../../src/core/scoring/policy.ts';
import {
  amounts,
  chanceOf,
  makeCell,
  makeClaim,
  makeHost,
  makeRequest,
} from '../../core/placement/placement-fixtures.ts';

const own = (score: ScoreHost, more = {}) =>
  compileOptions({ id: 'own-1', kind: 'batch', policy: { name: 'own', score, ...more } });
const chosen = (score: ScoreHost, count = 1, more = {}): string[] => {
  const state = makeCell(['a', 'b', 'c'].map((id) => makeHost(id)));
  state.assume(makeClaim('1', 'b', { resources: amounts(3_000, 1_024) }));
  const { placement } = own(score, more);
  return place(state, makeRequest({ count }), chanceOf(1), placement).chosen.map(({ host }) => host);
};

describe("28 a policy of somebody's own", () => {
  it('chooses among the hosts that fit, and sees what each pick before took', () => {
    expect(chosen(({ host }) => (host.id === 'c' ? 1 : 0))).toEqual(['c']);
    const emptiest: ScoreHost = ({ free }) => free.cpuMilli / 4_000;
    expect(chosen(emptiest, 4).filter((host) => host === 'b')).toEqual([]);
    expect(new Set(chosen(emptiest, 4)).size).toBe(2);
    const fullest: ScoreHost = ({ free }) => 1 - free.cpuMilli / 4_000;
    expect(chosen(fullest, 2)).toEqual(['b', expect.stringMatching(/[ac]/)]);
    expect(chosen(() => 0.5, 3, { sameHostCost: 1 }).sort()).toEqual(['a', 'b', 'c']);
  });

  it('is told what is asked for, and only of hosts that fit', () => {
    const seen = new Set<string>();
    chosen(({ host, free }, { ask, group }) => {
      expect(free.cpuMilli).toBeGreaterThanOrEqual(ask.resources.cpuMilli);
      expect(group).not.toBe('');
      seen.add(host.id);
      return 0;
    });
    expect([...seen].sort()).toEqual(['a', 'b', 'c']);
  });

  it('may answer nonsense: every host that fits is still found', () => {
    for (const nonsense of [NaN, -1, Infinity, -Infinity, 1e9])
      expect(chosen(() => nonsense, 9)).toHaveLength(9);
  });

  it('goes by its name, which is one', () => {
    expect(policyText(own(() => 0))).toBe('batch-own');
    const policy = { name: 'Not a name', score: () => 0 };
    expect(() => compileOptions({ id: 'x', kind: 'batch', policy })).toThrow('Not a name');
  });
});
