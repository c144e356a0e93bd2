import { describe, expect, test } from 'vitest';
import { busynessOf, conflictFractionOf, isSaturated, waitOf } from '../../sim/omega/figures/measures.ts';
import type { ClassLoad } from '../../sim/omega/workload/workload.ts';
import type { PointResult } from '../../sim/omega/point/result.ts';
import { runPoint } from '../../sim/omega/point/point.ts';
import type { PointSpec } from '../../sim/omega/point/spec.ts';
import { OMEGA_RETRY } from '../../sim/omega/model/spec.ts';

// Small cells that are nearly full of large tasks, so that few jobs meet many conflicts. Every run has a fixed seed.

const SEED = 11;
const HOSTS = 400;

function load(gap: number, tasks: number, runtime: number): ClassLoad {
  return {
    gapSeconds: { kind: 'exponential', mean: gap },
    tasks: { kind: 'exponential', mean: tasks },
    runtimeSeconds: { kind: 'exponential', mean: runtime },
    shapes: [{ weight: 1, cpuMilli: 1000, memoryMib: 1024, gpu: null }],
    gang: false,
    constraint: null,
  };
}

const BASE: PointSpec = {
  cell: {
    hosts: [{ count: HOSTS, cpuMilli: 4000, memoryMib: 16_384, gpuModels: [] }],
    prefill: [{ cpuShare: 0.6, work: 'service', lives: 'standing' }],
    hostGroups: 1,
  },
  load: { batch: load(2, 5, 40), service: load(30, 4, 120) },
  arrivalScale: { batch: 1, service: 1 },
  design: 'shared-state',
  schedulers: { batch: 1, service: 1 },
  decision: {
    batch: { jobSeconds: 0.1, taskSeconds: 0.005 },
    service: { jobSeconds: 0.1, taskSeconds: 0.005 },
  },
  conflictCheck: 'resource-fit',
  atomicity: 'incremental',
  endsMove: false,
  placement: { sample: 1 },
  elastic: null,
  retry: OMEGA_RETRY,
  horizonSeconds: 4 * 3600,
  seed: SEED,
};

const run = (changes: Partial<PointSpec> = {}): PointResult => runPoint({ ...BASE, ...changes });
const seconds = (jobSeconds: number) => ({ jobSeconds, taskSeconds: 0.005 });
const service = (jobSeconds: number) => ({
  decision: { batch: seconds(0.1), service: seconds(jobSeconds) },
});
const conflicts = (result: PointResult): number => conflictFractionOf(result, 'service') ?? 0;

describe('shared state', () => {
  const quick = run(service(0.1));
  const slow = run(service(10));

  test('longer service decisions meet more conflicts', () => {
    const middle = conflicts(run(service(3)));
    expect(middle).toBeGreaterThan(conflicts(quick));
    expect(conflicts(slow)).toBeGreaterThan(middle);
  });

  test('batch and service waits are independent', () => {
    expect(Math.abs((waitOf(slow, 'batch') ?? 0) - (waitOf(quick, 'batch') ?? 0))).toBeLessThan(0.05);
    expect(busynessOf(slow, 'service')).toBeGreaterThan(20 * busynessOf(quick, 'service'));
  });

  test('all jobs are placed but those of the last seconds', () => {
    for (const { submitted, placed, abandoned } of slow.classes) {
      expect(abandoned).toBe(0);
      expect(submitted - placed).toBeLessThan(10);
    }
  });

  test('coarse detection costs more than 1.5 times the conflicts of fine-grained, and more where ends count too', () => {
    const coarse = run({ ...service(10), conflictCheck: 'version' });
    const ends = run({ ...service(10), conflictCheck: 'version', endsMove: true });
    expect(conflicts(coarse)).toBeGreaterThan(1.5 * conflicts(slow));
    expect(conflicts(ends)).toBeGreaterThan(conflicts(coarse));
    expect(busynessOf(coarse, 'service')).toBeGreaterThan(busynessOf(slow, 'service'));
  });

  test('all or nothing costs more conflicts than incremental, where a second try is as large as the first', () => {
    const large = { ...service(20), load: { batch: load(2, 5, 40), service: load(90, 20, 60) } };
    const gang = run({ ...large, atomicity: 'all-or-nothing' });
    expect(conflicts(gang)).toBeGreaterThan(1.3 * conflicts(run(large)));
  });

  test('the conflict fraction grows with the number of schedulers, and each is less busy, up to 32', () => {
    const busy = { load: { ...BASE.load, batch: load(0.9, 8, 20) } as PointSpec['load'] };
    const results = [1, 4, 32].map((batch) => run({ ...busy, schedulers: { batch, service: 1 } }));
    const fractions = results.map((result) => conflictFractionOf(result, 'batch') ?? 0);
    const busyness = results.map((result) => busynessOf(result, 'batch'));
    expect(fractions[1]).toBeGreaterThan(fractions[0]!);
    expect(fractions[2]).toBeGreaterThan(fractions[1]!);
    expect(busyness[1]).toBeLessThan(busyness[0]!);
    expect(busyness[2]).toBeLessThan(busyness[1]!);
  });

  test('three batch schedulers bear about three times the decision time', () => {
    const saturated = (batch: number, jobSeconds: number): boolean =>
      isSaturated(
        run({
          schedulers: { batch, service: 1 },
          decision: { batch: seconds(jobSeconds), service: seconds(0.1) },
        }),
        'batch',
      );
    expect(saturated(1, 1.6)).toBe(false);
    expect(saturated(1, 2.4)).toBe(true);
    expect(saturated(3, 4.8)).toBe(false);
    expect(saturated(3, 7.2)).toBe(true);
  });

  test('the same seed gives the same result, another one another', () => {
    expect(run(service(0.1))).toEqual(quick);
    expect(run({ ...service(0.1), seed: SEED + 1 }).classes).not.toEqual(quick.classes);
  });
});

describe('the other designs', () => {
  test('single path: busyness follows the decision time, and the wait explodes when it is full', () => {
    const single = (jobSeconds: number): PointResult =>
      run({ design: 'monolithic', decision: { batch: seconds(jobSeconds), service: seconds(jobSeconds) } });
    const [quick, slow, over] = [single(0.3), single(1.2), single(6)];
    const rate = quick.classes.reduce((sum, { submitted }) => sum + submitted, 0) / BASE.horizonSeconds;
    expect(busynessOf(slow, 'batch') - busynessOf(quick, 'batch')).toBeCloseTo(0.9 * rate, 1);
    expect(waitOf(over, 'batch') ?? 0).toBeGreaterThan(100 * (waitOf(quick, 'batch') ?? 0));
  });

  test('multi-path: batch jobs wait behind slow service decisions; with shared state they do not', () => {
    const multi = run({ design: 'monolithic', ...service(10) });
    const shared = run(service(10));
    expect(waitOf(multi, 'batch') ?? 0).toBeGreaterThan(20 * (waitOf(shared, 'batch') ?? 0));
    expect(isSaturated(multi, 'batch')).toBe(false);
  });

  test('two-level: while service decides it holds the cell, and batch tries in vain until jobs are given up', () => {
    // Services end in scraps that are too small for a batch task.
    const scraps = {
      ...load(40, 50, 3000),
      shapes: [{ weight: 1, cpuMilli: 250, memoryMib: 256, gpu: null }],
    };
    const of = (jobSeconds: number): PointResult =>
      run({
        ...{ design: 'two-level', ...service(jobSeconds), load: { batch: load(30, 5, 40), service: scraps } },
        cell: { ...BASE.cell, prefill: [{ cpuShare: 0.6, work: 'service', lives: 'residual' }] },
      });
    const [quick, slow] = [of(0.1), of(1000)];
    const occupied = (result: PointResult): number =>
      result.schedulers.find(({ work }) => work === 'batch')?.occupied.mean ?? 0;
    expect(occupied(slow)).toBeGreaterThan(2 * occupied(quick));
    expect(quick.classes[0]?.abandoned).toBe(0);
    expect(slow.classes[0]?.abandoned).toBeGreaterThan(0);
  });
});
