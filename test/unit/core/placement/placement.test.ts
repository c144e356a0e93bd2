import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Claim } from '../../../../src/core/cell/claim.ts';
import { EMPTY_LEDGER, usedOf, withClaim } from '../../../../src/core/fit/ledger.ts';
import { BINPACK, LEVEL, SERVICE } from '../../../../src/core/scoring/policy.ts';
import { explain } from '../../../../src/core/placement/explain.ts';
import { place } from '../../../../src/core/placement/placement.ts';
import {
  amounts,
  chanceOf,
  expr,
  makeCell,
  makeClaim,
  makeGroup,
  makeHost,
  makeRequest,
} from './placement-fixtures.ts';

const chance = chanceOf(1);
const hostsOf = (result: ReturnType<typeof place>): string[] => result.chosen.map(({ host }) => host);

describe('place', () => {
  it('accounts for its own picks and says how many found no place', () => {
    const state = makeCell([makeHost('a'), makeHost('b')]);
    const result = place(state, makeRequest({ count: 10 }), chance, BINPACK);
    expect(hostsOf(result).sort()).toEqual(['a', 'a', 'a', 'a', 'b', 'b', 'b', 'b']);
    expect(result.unplaced).toBe(2);
    expect(place(state, makeRequest({ count: 10 }), chance, BINPACK).unplaced).toBe(2);
  });

  it('leaves out hosts that are dead, not ready or unknown', () => {
    const state = makeCell([makeHost('dead'), makeHost('cordoned')]);
    state.setAlive('dead', false);
    state.setLedger('cordoned', { ...EMPTY_LEDGER, state: 'cordoned' }, 3);
    state.setAlive('unknown', true);
    expect(place(state, makeRequest(), chance, BINPACK).unplaced).toBe(1);
  });

  it('packs on the fullest host that fits, or levels, as the policy says', () => {
    const state = makeCell([makeHost('a'), makeHost('b'), makeHost('c')]);
    state.assume(makeClaim('1', 'b'));
    state.assume(makeClaim('2', 'a', { resources: amounts(3500, 1024) }));
    expect(hostsOf(place(state, makeRequest(), chance, BINPACK))).toEqual(['b']);
    expect(hostsOf(place(state, makeRequest(), chance, LEVEL))).toEqual(['c']);
  });

  it('keeps the copies of one group apart under the service policy', () => {
    const state = makeCell([makeHost('a'), makeHost('b'), makeHost('c')]);
    const result = place(state, makeRequest({ count: 2, hostsHeld: [state.known('b')] }), chance, SERVICE);
    expect(hostsOf(result).sort()).toEqual(['a', 'c']);
  });

  it('honours constraints, distinct and spread', () => {
    const zones = ['z1', 'z1', 'z1', 'z2', 'z3'];
    const state = makeCell(
      zones.map((zone, i) => makeHost(`h${String(i)}`, { attributes: { zone, os: 'linux' } })),
    );
    const only = makeGroup({ constraints: [expr('zone', '==', 'z2')], distinct: ['id'] });
    expect(place(state, makeRequest({ group: only, count: 2 }), chance, BINPACK)).toMatchObject({
      chosen: [{ host: 'h3' }],
      unplaced: 1,
    });
    const spread = makeGroup({ spread: [{ attribute: 'zone', weight: 100 }] });
    const result = place(state, makeRequest({ group: spread, count: 6 }), chance, BINPACK);
    const counts = new Map<string, number>();
    for (const host of hostsOf(result)) {
      const zone = zones[Number(host.slice(1))] ?? '';
      counts.set(zone, (counts.get(zone) ?? 0) + 1);
    }
    expect([...counts.values()]).toEqual([2, 2, 2]);
    const distinct = makeGroup({ distinct: ['host.zone'] });
    expect(place(state, makeRequest({ group: distinct, count: 5 }), chance, BINPACK).unplaced).toBe(2);
  });

  it('finds a preferred host by its name in a large cell, whatever the sample draws', () => {
    const state = makeCell(
      Array.from({ length: 1_200 }, (_, n) =>
        makeHost(`h${String(n)}`, { attributes: { zone: `z${String(n % 3)}` } }),
      ),
    );
    const preferences = [
      { expression: expr('host.id', '==', 'h777'), weight: 100 },
      { expression: expr('id', 'in', 'h778,h3,gone'), weight: 40 },
      { expression: expr('id', '==', 'h5'), weight: -50 },
    ];
    for (const spread of [[], [{ attribute: 'zone', weight: 10 }]])
      for (let seed = 1; seed <= 20; seed++) {
        const group = makeGroup({ affinities: preferences, spread });
        const chosen = hostsOf(place(state, makeRequest({ group, count: 13 }), chanceOf(seed), BINPACK));
        const times = (host: string): number => chosen.filter((one) => one === host).length;
        // Four tasks fit on each.
        expect([times('h777'), times('h778'), times('h3')]).toEqual([4, 4, 4]);
        expect(chosen).toHaveLength(13);
        const beside = makeRequest({ group, count: 1, avoidHosts: ['h777'] });
        expect(['h778', 'h3']).toContain(hostsOf(place(state, beside, chanceOf(seed), BINPACK))[0]);
      }
  });

  it('spreads by targets, and what is left of the percent evenly over values that are not named', () => {
    const zones = ['a', 'b', 'c', 'd'];
    const state = makeCell(
      Array.from({ length: 200 }, (_, n) =>
        makeHost(`h${String(n)}`, { attributes: { zone: zones[n % zones.length] ?? '' } }),
      ),
    );
    const dealt = (targets: Readonly<Record<string, number>>, count: number, seed: number): number[] => {
      const group = makeGroup({ spread: [{ attribute: 'zone', weight: 100, targets }] });
      const { chosen } = place(state, makeRequest({ group, count }), chanceOf(seed), BINPACK);
      const zoneOf = (host: string): string | undefined => state.hostOf(host)?.attributes['zone'];
      return zones.map((zone) => chosen.filter(({ host }) => zoneOf(host) === zone).length);
    };
    for (let seed = 1; seed <= 10; seed++) {
      expect(dealt({ a: 70, b: 30 }, 10, seed)).toEqual([7, 3, 0, 0]);
      expect(dealt({ a: 50, b: 20 }, 20, seed)).toEqual([10, 4, 3, 3]);
      // The share of a value that no host has is divided among the others.
      expect(dealt({ a: 30, gone: 70 }, 5, seed)).toEqual([5, 0, 0, 0]);
      expect(dealt({ a: 0, b: 0 }, 6, seed)).toEqual([0, 0, 3, 3]);
    }
  });

  it('takes the fullest device that fits for a part of one, free ones for whole ones, and free ports', () => {
    const state = makeCell([makeHost('a', { gpuModels: ['T4', 'T4', 'A10'] })]);
    state.assume(makeClaim('1', 'a', { gpus: [{ device: 1, milli: 400 }], ports: { http: 20_000 } }));
    const gpu = { count: 1, milliEach: 500, models: [] };
    expect(place(state, makeRequest({ gpu }), chance, BINPACK).chosen[0]?.gpus).toEqual([
      { device: 1, milli: 500 },
    ]);
    const whole = { count: 2, milliEach: 1000, models: ['T4'] };
    expect(place(state, makeRequest({ gpu: whole }), chance, BINPACK).unplaced).toBe(1);
    expect(place(state, makeRequest({ ports: { http: 20_000 } }), chance, BINPACK).unplaced).toBe(1);
    const free = place(state, makeRequest({ ports: { http: 0, admin: 0 } }), chance, BINPACK).chosen[0];
    expect(new Set([...Object.values(free?.ports ?? {}), 20_000]).size).toBe(3);
  });

  it('S3.3 S3.9 kinds of resource that a cell made up count like any other: two heavy users do not share one link', () => {
    const link = (netMbps: number) => ({ ...amounts(100, 100), scalars: { netMbps } });
    const fast = { capacity: { ...amounts(8000, 8192, 100), scalars: { netMbps: 1000 } } };
    const state = makeCell([makeHost('a', fast), makeHost('b', fast), makeHost('none')]);
    const heavy = place(state, makeRequest({ resources: link(600), count: 3 }), chance, BINPACK);
    expect([...hostsOf(heavy)].sort()).toEqual(['a', 'b']);
    expect(heavy.unplaced).toBe(1);
    expect(
      hostsOf(place(state, makeRequest({ resources: link(0), count: 1 }), chance, BINPACK)),
    ).toHaveLength(1);
  });

  it('uses hosts to avoid only when no other fits', () => {
    const state = makeCell([makeHost('a'), makeHost('b')]);
    const request = makeRequest({ count: 5, avoidHosts: ['a'] });
    expect(hostsOf(place(state, request, chance, BINPACK))).toEqual(['b', 'b', 'b', 'b', 'a']);
  });

  it('S4.29 goes back to where it failed before it asks again who refused', () => {
    const state = makeCell([makeHost('failed'), makeHost('refused')]);
    const request = makeRequest({ count: 5, avoidHosts: ['failed'], refusingHosts: ['refused'] });
    const both = makeRequest({ count: 1, avoidHosts: ['refused', 'failed'], refusingHosts: ['refused'] });
    const fives = ['failed', 'failed', 'failed', 'failed', 'refused'];
    expect(hostsOf(place(state, request, chance, BINPACK))).toEqual(fives);
    expect(hostsOf(place(state, both, chance, BINPACK))).toEqual(['failed']);
  });
});

describe('explain', () => {
  it('names the nearest miss first and counts the refusals by check', () => {
    const state = makeCell([
      makeHost('far', { attributes: { os: 'bsd' } }),
      makeHost('near', { attributes: { os: 'linux' } }),
      makeHost('dead', { attributes: { os: 'linux' } }),
    ]);
    state.setAlive('dead', false);
    const group = makeGroup({ constraints: [expr('os', '==', 'linux')] });
    const explanation = explain(state, makeRequest({ group, resources: amounts(1000, 9000) }));
    expect(explanation.hosts.map(({ host, detail }) => [host, detail])).toEqual([
      ['near', 'lacks 808Mi memory (needs 9000Mi, 8192Mi free)'],
      ['far', 'host.os == linux: is bsd'],
      ['dead', 'no sign of life'],
    ]);
    expect(explanation.hostsTotal).toBe(3);
    expect(explanation.refusals).toEqual(
      [
        { check: 'eligibility', hosts: 1 },
        { check: 'constraint', hosts: 1 },
        { check: 'resources', hosts: 1 },
      ]
        .sort((a, b) => b.hosts - a.hosts)
        .map((row) => expect.objectContaining({ hosts: row.hosts }) as unknown),
    );
  });
});

describe('CellState', () => {
  it('ignores a ledger older than the one it has', () => {
    const state = makeCell([makeHost('a')]);
    state.setLedger('a', withClaim(EMPTY_LEDGER, makeClaim('x', 'a', { resources: amounts(4000, 0) })), 7);
    state.setLedger('a', EMPTY_LEDGER, 5);
    expect(place(state, makeRequest(), chance, BINPACK).unplaced).toBe(1);
    state.setLedger('a', EMPTY_LEDGER, 8);
    expect(place(state, makeRequest(), chance, BINPACK).unplaced).toBe(0);
  });

  it('ends a claim by its id on its host, among any others, and only once', () => {
    const host = fc.constantFrom('a', 'b');
    const step = fc.tuple(fc.constantFrom('assume', 'forget'), fc.nat(5), host, fc.boolean());
    const law = fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const state = makeCell([makeHost('a'), makeHost('b')]);
      const assumed = new Map<string, Claim>();
      for (const [what, n, id, byHand] of steps) {
        const claim = makeClaim(`c${String(n)}`, id, { resources: amounts(10 * (n + 1), 1) });
        const known = byHand ? state.known(id) : undefined;
        const name = `${id}/${claim.id}`;
        if (what === 'assume') {
          if (assumed.has(name)) expect(() => state.assume(claim, known)).toThrow('assumed already');
          else state.assume(claim, known);
          assumed.set(name, claim);
        } else {
          state.forget({ id: claim.id, host: id }, known);
          assumed.delete(name);
        }
      }
      expect(state.inFlight).toBe(assumed.size);
      for (const id of ['a', 'b']) {
        const here = [...assumed.values()].filter((claim) => claim.host === id);
        expect(usedOf(state.ledgerOf(id))).toEqual(usedOf(here.reduce(withClaim, EMPTY_LEDGER)));
      }
    });
    fc.assert(law, { numRuns: 200 });
  });

  it('counts a claim in flight until it is forgotten, refused or committed', () => {
    const state = makeCell([makeHost('a')]);
    const big = makeClaim('x', 'a', { resources: amounts(4000, 0) });
    state.assume(big);
    expect(place(state, makeRequest(), chance, BINPACK).unplaced).toBe(1);
    state.forget(big);
    expect(place(state, makeRequest(), chance, BINPACK).unplaced).toBe(0);
    state.assume(big);
    state.setLedger('a', withClaim(EMPTY_LEDGER, big), 2);
    state.forget(big);
    state.setLedger('a', EMPTY_LEDGER, 3);
    expect(place(state, makeRequest(), chance, BINPACK).unplaced).toBe(0);
  });
});
