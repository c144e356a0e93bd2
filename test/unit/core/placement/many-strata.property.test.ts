import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import { EMPTY_LEDGER } from '../../../../src/core/fit/ledger.ts';
import { BINPACK } from '../../../../src/core/scoring/policy.ts';
import { place } from '../../../../src/core/placement/placement.ts';
import { rankByWalk } from '../../../support/placement-walk.ts';
import { STRATA_MAX } from '../../../../src/core/cell-state/selection.ts';
import type { KnownHost } from '../../../../src/core/cell-state/host-slot.ts';
import type { Near } from '../../../../src/core/cell/interference.ts';
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

/** Of racks and zones; most of the former are not named, and share a half. */
const TARGETS = { r1: 20, r2: 5, r3: 0, z0: 10, z1: 15 };

const group = makeGroup({ spread: [{ attribute: 'rack', weight: 100 }] });

/** Hosts in racks, one after the other. */
function cellOf(racks: number, hosts: number): CellState {
  return makeCell(
    Array.from({ length: hosts }, (_, n) =>
      makeHost(`h${String(n)}`, {
        attributes: { os: 'linux', 'driver.exec': 'true', rack: `r${String(n % racks)}` },
      }),
    ),
  );
}

/** How many of the tasks each rack got, of those that got any. */
function spreadOver(state: CellState, racks: number, count: number): number[] {
  const { chosen } = place(state, makeRequest({ group, count }), chanceOf(1), BINPACK);
  expect(chosen).toHaveLength(count);
  const counts = new Map<number, number>();
  for (const { host } of chosen) {
    const rack = Number(host.slice(1)) % racks;
    counts.set(rack, (counts.get(rack) ?? 0) + 1);
  }
  return [...counts.values()];
}

describe('groups that are spread over very many values', () => {
  it('2,000 tasks go to 2,000 racks, one to each', () => {
    const counts = spreadOver(cellOf(2_000, 2_000), 2_000, 2_000);
    expect([counts.length, Math.max(...counts)]).toEqual([2_000, 1]);
  });

  it('5,000 tasks go to 5,000 racks of 10,000 hosts, one to each', () => {
    const counts = spreadOver(cellOf(5_000, 10_000), 5_000, 5_000);
    expect([counts.length, Math.max(...counts)]).toEqual([5_000, 1]);
  });

  it('of more than STRATA_MAX a new sample is compared for each task', () => {
    const racks = STRATA_MAX + 100;
    const counts = spreadOver(cellOf(racks, racks), racks, racks / 2);
    expect(Math.max(...counts)).toBeLessThanOrEqual(3);
    expect(counts.length).toBeGreaterThan(racks / 3);
  }, 60_000);

  it('picks as the walk over all hosts would, place after place, over any spread and affinity, and near any class (S3.17)', () => {
    const anyHost = fc.record({ rack: fc.nat(99), zone: fc.nat(3), cpu: fc.integer({ min: 0, max: 3 }) });
    const anyGroup = fc.record({
      targets: fc.boolean(),
      spread: fc.constantFrom(['rack'], ['rack', 'zone'], ['zone', 'rack'], []),
      favoured: fc.option(fc.nat(99)),
      distinct: fc.constantFrom([], ['rack'], ['id']),
      near: fc.constantFrom<readonly Near[]>(
        ...[[], [], [{ class: 'own', weight: 60 }], [{ class: 'own', over: 'rack', weight: 30 }]],
        [
          { class: 'other', weight: 80 },
          { class: 'own', weight: 20 },
          { class: 'other', over: 'zone', weight: 10 },
        ],
      ),
      /** Something of the other class. */
      others: fc.array(fc.nat(149), { maxLength: 6 }),
    });
    const law = fc.property(
      fc.array(anyHost, { minLength: 70, maxLength: 150 }),
      anyGroup,
      fc.nat(),
      (hosts, { spread, targets, favoured, distinct, near, others }, seed) => {
        const state = makeCell(
          hosts.map(({ rack, zone, cpu }, n) =>
            makeHost(`h${String(n)}`, {
              capacity: amounts(1000 * cpu, 8000),
              attributes: {
                ...{ os: 'linux', 'driver.exec': 'true', zone: `z${String(zone)}` },
                // Some hosts are in no rack.
                ...(rack < 95 ? { rack: `r${String(rack)}` } : {}),
              },
            }),
          ),
        );
        for (const n of new Set(others)) {
          const resources = { ...amounts(500, 1000), scalars: { 'class.other': 1 } };
          state.assume(makeClaim(`o${String(n)}`, `h${String(n)}`, { resources }));
        }
        const affinities =
          favoured === null ? [] : [{ expression: expr('rack', '==', `r${String(favoured)}`), weight: 70 }];
        const preferences = makeGroup({
          spread: spread.map((attribute, n) => ({
            ...{ attribute, weight: 100 - 30 * n },
            ...(targets ? { targets: TARGETS } : {}),
          })),
          ...{ affinities, distinct, near },
        });
        const policy = { ...BINPACK, sample: Infinity };
        const resources = { ...amounts(1000, 100), scalars: { 'class.own': 1 } };
        const request = makeRequest({ group: preferences, resources, count: 60 });
        const held: KnownHost[] = [];
        const { chosen, unplaced } = place(state, request, chanceOf(seed), policy);
        for (const [n, each] of chosen.entries()) {
          const ranks = rankByWalk(state, { ...request, hostsHeld: held }, policy);
          expect(ranks.get(each.host)).toBeCloseTo(Math.max(...ranks.values()), 9);
          state.assume({ id: String(n), precedence: 50, resources: request.ask.resources, ...each });
          held.push(state.known(each.host));
        }
        if (unplaced > 0) expect(rankByWalk(state, { ...request, hostsHeld: held }, policy).size).toBe(0);
      },
    );
    fc.assert(law, { numRuns: 60 });
  });

  it('finds a place if and only if the walk over all hosts does', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(1_030, STRATA_MAX + 1),
        fc.uniqueArray(fc.nat(1_029), { maxLength: 3 }),
        (racks, free) => {
          const state = cellOf(racks, racks);
          for (let n = 0; n < racks; n++)
            if (!free.includes(n))
              state.setLedger(`h${String(n)}`, { ...EMPTY_LEDGER, state: 'cordoned' }, 2);
          const request = makeRequest({ group });
          const [chosen] = place(state, request, chanceOf(1), BINPACK).chosen;
          const fitting = [...rankByWalk(state, request, BINPACK).keys()];
          expect(chosen === undefined).toBe(fitting.length === 0);
          if (chosen !== undefined) expect(fitting).toContain(chosen.host);
        },
      ),
      { numRuns: 6 },
    );
  });
});
