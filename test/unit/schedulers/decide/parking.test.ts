import { describe, expect, it } from 'vitest';
import { Parking } from '../../../../schedulers/decide/parking.ts';
import { OwnedJob } from '../../../../schedulers/state/owned-job.ts';
import { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { makeHost } from '../../core/placement/placement-fixtures.ts';
import { makeJob } from '../cell-world.ts';

/** How long the host takes to wake a job of each of four schedulers, in ms. */
async function wokenAfterMs(hosts: number, host: (state: CellState) => string): Promise<readonly number[]> {
  const clock = new ManualClock();
  const state = new CellState();
  for (let n = 0; n < hosts; n++) state.setHost(makeHost(`h${String(n)}`));
  state.arrange();
  const woken: number[] = [];
  for (const index of [0, 1, 2, 3]) {
    const job = new OwnedJob({ job: makeJob('web'), version: 1, desired: 'run', submittedAtMs: 1 }, 1, 1);
    const parking = new Parking({
      ...{ clock, state, partition: () => ({ index, count: 4 }) },
      wake: () => (woken[index] = clock.monotonicMs()),
    });
    job.group('web').parked = true;
    parking.park(job);
    parking.capacityFreed(host(state));
  }
  const startedMs = clock.monotonicMs();
  for (let waited = 0; waited < 1_000; waited += 50) await clock.advance(50);
  return woken.map((atMs) => atMs - startedMs);
}

const hostAt =
  (index: number) =>
  (state: CellState): string =>
    state.index.slot(index).id;

describe('schedulers whose jobs wait for the same capacity', () => {
  it('hear of a freed host one after the other, first the one in whose part it lies', async () => {
    expect(await wokenAfterMs(400, hostAt(0))).toEqual([100, 700, 500, 300]);
    expect(await wokenAfterMs(400, hostAt(250))).toEqual([500, 300, 100, 700]);
    expect(await wokenAfterMs(400, hostAt(399))).toEqual([700, 500, 300, 100]);
  });

  it('hear of it at once where hosts are too few to be divided', async () => {
    expect(await wokenAfterMs(20, hostAt(0))).toEqual([100, 100, 100, 100]);
  });
});
