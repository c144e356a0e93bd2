import { expect, it } from 'vitest';
import { runWorld } from '../../sim/world/run-world.ts';
import { SMALL_CELL } from '../../sim/world/scenario.ts';

it('what goes wrong by chance is in the history until the quiet time, by the names of the faults that do the same', async () => {
  const faults = { store: { readFails: 0.1 }, network: { double: 0.1, loss: 0.01 } };
  const { history, violations, report } = await runWorld({ seed: 3, scenario: SMALL_CELL, faults });
  expect(violations).toEqual([]);
  expect(report?.done.faults).toBe(0);
  expect(history.nemesis.map(({ fact, atMs }) => [fact.phase, fact.kind, atMs])).toEqual([
    ['begin', 'doubling-network', 0],
    ['begin', 'lossy-network', 0],
    ['begin', 'reads-fail', 0],
    ['end', 'doubling-network', SMALL_CELL.activeMs],
    ['end', 'lossy-network', SMALL_CELL.activeMs],
    ['end', 'reads-fail', SMALL_CELL.activeMs],
  ]);
});
