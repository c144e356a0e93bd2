import { describe, expect, it } from 'vitest';
import type { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import type { Selection } from '../../../../src/core/cell-state/selection.ts';
import { SELECTIONS_BYTES_MAX } from '../../../../src/core/cell-state/selections.ts';
import { expr, makeCell, makeGroup, makeHost, makeRequest } from '../placement/placement-fixtures.ts';

/** More groups than there is memory for, if each is spread over so many racks. */
const GROUPS = 120;
const RACKS = 2_000;

const inRack = (n: number) =>
  makeHost(`h${String(n)}`, { attributes: { os: 'linux', 'driver.exec': 'true', rack: `r${String(n)}` } });

/** What the group of that number says: each forbids itself another rack, which there is not. */
function ask(state: CellState, number: number): Selection {
  const constraints = [expr('rack', '!=', `none${String(number)}`)];
  const group = makeGroup({ constraints, spread: [{ attribute: 'rack', weight: 100 }] });
  return state.selections.for(makeRequest({ group }));
}

describe('the selections that are kept', () => {
  it('take no more memory than they may: those used longest ago go first', () => {
    const state = makeCell(Array.from({ length: RACKS }, (_, n) => inRack(n)));
    const { selections } = state;
    const [used, unused] = [ask(state, 0), ask(state, 1)];
    for (let number = 2; number < GROUPS; number++) {
      ask(state, number);
      expect(ask(state, 0)).toBe(used);
      expect(selections.bytes).toBeLessThanOrEqual(SELECTIONS_BYTES_MAX);
    }
    expect(selections.size).toBeLessThan(GROUPS);
    const kept = selections.size;
    expect(ask(state, 1)).not.toBe(unused);
    expect([used.strata.length, selections.size]).toEqual([RACKS, kept]);
  });

  it('go all at once when the classes change', () => {
    const state = makeCell([inRack(0), inRack(1)]);
    const before = [ask(state, 0), ask(state, 1), ask(state, 2)];
    expect([state.selections.size, ask(state, 1)]).toEqual([3, before[1]]);
    const { bytes } = state.selections;
    state.setHost(inRack(2));
    expect(ask(state, 1).strata).toHaveLength(3);
    expect(state.selections.size).toBe(1);
    expect(state.selections.bytes).toBeLessThan(bytes);
    expect(ask(state, 0)).not.toBe(before[0]);
  });

  it('are no more than so many, however small', () => {
    const state = makeCell([inRack(0)]);
    const first = ask(state, 0);
    for (let number = 1; number < 300; number++) ask(state, number);
    expect(state.selections.size).toBe(256);
    expect(ask(state, 0)).not.toBe(first);
  });
});
