import { expect, test } from 'vitest';
import { CELLS } from '../../../../../sim/omega/workload/cells.ts';
import { simulatedSeconds } from '../../../../../sim/omega/point/result.ts';
import { runPoint } from '../../../../../sim/omega/point/point.ts';
import type { PointSpec } from '../../../../../sim/omega/point/spec.ts';
import { OMEGA_RETRY } from '../../../../../sim/omega/model/spec.ts';

const { cell, load } = CELLS.B;
const decision = { jobSeconds: 0.1, taskSeconds: 0.005 };
const SPEC: PointSpec = {
  cell: { ...cell, hosts: cell.hosts.map((kind) => ({ ...kind, count: 300 })) },
  ...{ load, arrivalScale: { batch: 0.05, service: 0.05 }, design: 'shared-state' },
  ...{ schedulers: { batch: 2, service: 1 }, decision: { batch: decision, service: decision } },
  ...{ conflictCheck: 'resource-fit', atomicity: 'incremental', endsMove: false, elastic: null },
  ...{ placement: { sample: 1 }, retry: OMEGA_RETRY, horizonSeconds: 8 * 3600, seed: 5 },
};

/** Stops before the event of this number. */
const before = (event: number) => {
  let asked = 0;
  return { stops: () => asked++ === event };
};

test.each([300, 2_000, 4_000])('stopped after %i events: what a run of that length gives', (event) => {
  const stopped = runPoint(SPEC, before(event));
  const seconds = simulatedSeconds(stopped);
  expect(stopped.stoppedAtSeconds).toBe(seconds);
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThan(SPEC.horizonSeconds);
  const whole = runPoint({ ...SPEC, horizonSeconds: seconds });
  expect(whole.stoppedAtSeconds).toBeUndefined();
  expect(stopped.classes).toEqual(whole.classes);
  for (const [at, one] of stopped.schedulers.entries()) {
    expect(one.busyness.mean).toBeCloseTo(whole.schedulers[at]!.busyness.mean, 10);
    expect(one.noConflictBusyness).toBe(whole.schedulers[at]!.noConflictBusyness);
  }
  expect(stopped.cpuUse.mean).toBeCloseTo(whole.cpuUse.mean, 10);
});

test('the slices of a stopped run are those that it saw whole, or the first', () => {
  const whole = runPoint(SPEC);
  const late = runPoint(SPEC, before(Math.floor(whole.events * 0.7)));
  const slices = Math.floor(simulatedSeconds(late) / late.sliceSeconds);
  expect(slices).toBeGreaterThan(1);
  expect(late.cpuUse.slices).toEqual(whole.cpuUse.slices.slice(0, slices));
  const early = runPoint(SPEC, before(50));
  expect(simulatedSeconds(early)).toBeLessThan(early.sliceSeconds);
  expect(early.cpuUse.slices).toHaveLength(1);
  expect(early.cpuUse.slices[0]).toBeCloseTo(early.cpuUse.mean, 10);
});

test('stopped before anything happened: nothing, and no number that is none', () => {
  const result = runPoint(SPEC, before(0));
  expect(result.stoppedAtSeconds).toBe(0);
  expect(JSON.stringify(result)).not.toMatch(/NaN|Infinity/);
  expect(result.schedulers.every(({ wasted, busyness }) => wasted === 0 && busyness.mean === 0)).toBe(true);
});
