import { expect, it } from 'vitest';
import { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import { FITS_COUNT_MAX, fits } from '../../../../src/core/placement/fits.ts';
import { amounts, makeClaim, makeGroup, makeHost, makeRequest, makeShared } from './placement-fixtures.ts';
import { BINPACK } from '../../../../src/core/scoring/policy.ts';

/** Three hosts of four cores each; one core of the first is taken. */
function cell(): CellState {
  const state = new CellState();
  for (const id of ['h1', 'h2', 'h3']) {
    state.setHost(makeHost(id));
    state.setAlive(id, true);
  }
  state.assume(makeClaim('a', 'h1'));
  return state;
}

const gang = (count: number, resources = amounts(1000, 1)) =>
  makeRequest({ group: { ...makeGroup(), count, gang: true }, count, resources });

it('how many fit at once now, and when nothing else runs', () => {
  expect(fits(cell(), gang(20), BINPACK)).toEqual({ now: 11, pending: 20, whenEmpty: 12, count: 20 });
  expect(fits(cell(), gang(11), BINPACK)).toMatchObject({ now: 11, whenEmpty: 11 });
  const whole = amounts(4000, 1);
  expect(fits(cell(), gang(3, whole), BINPACK)).toMatchObject({ now: 2, whenEmpty: 3 });
});

it('a host that is away or closed counts for the empty cell, and the cell is as before', () => {
  const state = cell();
  state.setAlive('h2', false);
  expect(fits(state, gang(20), BINPACK)).toMatchObject({ now: 7, whenEmpty: 12 });
  expect(fits(state, gang(20), BINPACK)).toMatchObject({ now: 7, whenEmpty: 12 });
});

it('what hosts share bounds it too', () => {
  const state = cell();
  state.pools.define('licence', makeShared('licence', null, 5), 1);
  const request = makeRequest({
    ...{ group: { ...makeGroup(), count: 8, gang: true }, count: 8 },
    ...{ resources: amounts(100, 1), shared: { licence: 1 } },
  });
  expect(fits(state, request, BINPACK)).toMatchObject({ now: 5, whenEmpty: 5 });
});

it('nobody waits for the count of a very large group', () => {
  const count = 10 * FITS_COUNT_MAX;
  const found = fits(cell(), gang(count, amounts(1, 1)), BINPACK);
  expect(found).toMatchObject({ pending: FITS_COUNT_MAX, count: FITS_COUNT_MAX, now: FITS_COUNT_MAX });
});
