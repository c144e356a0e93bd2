import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CellState } from '../../../src/core/cell-state.ts';
import { EMPTY_LEDGER } from '../../../src/core/ledger.ts';
import { BINPACK, place } from '../../../src/core/placement.ts';
import { rankByWalk } from '../../../src/core/reference.ts';
import { STRATA_MAX } from '../../../src/core/selection.ts';
import { chanceOf, makeCell, makeGroup, makeHost, makeRequest } from './placement-fixtures.ts';

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
  it('S3.8 2,000 tasks go to 2,000 racks, one to each', () => {
    const counts = spreadOver(cellOf(2_000, 2_000), 2_000, 2_000);
    expect([counts.length, Math.max(...counts)]).toEqual([2_000, 1]);
  });

  it('of more than are told apart a sample is compared anew for each task', () => {
    const racks = STRATA_MAX + 100;
    const counts = spreadOver(cellOf(racks, racks), racks, racks / 2);
    expect(Math.max(...counts)).toBeLessThanOrEqual(3);
    expect(counts.length).toBeGreaterThan(racks / 3);
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
