import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ElasticJob, ElasticLoad } from '../../../../../sim/omega/elastic/mapreduce-job.ts';
import { askedSeconds, drawElasticJob } from '../../../../../sim/omega/elastic/mapreduce-job.ts';
import type { ElasticPolicy } from '../../../../../sim/omega/elastic/policy.ts';
import { ELASTIC_POLICIES, mostOf, targetOf } from '../../../../../sim/omega/elastic/policy.ts';
import { RunningJob } from '../../../../../sim/omega/elastic/running.ts';
import { lightSpec } from '../../../../../sim/omega/figures/base-spec.ts';
import type { PointResult } from '../../../../../sim/omega/point/result.ts';
import { runPoint } from '../../../../../sim/omega/point/point.ts';
import { seededRandom } from '../../../../../src/core/random/random.ts';

const LOAD: ElasticLoad = {
  gapSeconds: { kind: 'exponential', mean: 60 },
  worker: { cpuMilli: 500, memoryMib: 512, gpu: null },
  workers: [
    { weight: 1, count: 5 },
    { weight: 1, count: 50 },
  ],
  mapsPerWorker: { kind: 'log-uniform', least: 0.25, most: 16 },
  reducesPerWorker: { kind: 'log-uniform', least: 0.25, most: 4 },
  runtimeSeconds: { kind: 'log-uniform', least: 60, most: 600 },
  mapShare: 0.75,
};

const job: ElasticJob = {
  ...{ id: 1, submitSeconds: 0, workers: 10, worker: LOAD.worker },
  map: { activities: 60, seconds: 10 },
  reduce: { activities: 4, seconds: 30 },
};

describe('policies', () => {
  const cell = (cpuMilliUsed: number) => ({
    ...{ cpuMilliTotal: 100_000, memoryMibTotal: 1_000_000, cpuMilliUsed, memoryMibUsed: 0 },
  });
  const target = (policy: ElasticPolicy, used = 0, has = 0): number =>
    targetOf(policy, job, job.map, has, cell(used));

  test('each goes as far as it says', () => {
    expect(target('as-asked')).toBe(10);
    expect(target('max-parallelism')).toBe(60);
    expect(target('relative-job-size')).toBe(40);
    expect(target('global-cap')).toBe(60);
  });

  test('above the cap a job gets what was asked for, and keeps what it has', () => {
    expect(target('global-cap', 59_000)).toBe(10);
    expect(target('global-cap', 50_000, 10)).toBe(30);
    expect(target('global-cap', 70_000, 30)).toBe(30);
  });

  test('none gives more workers than there are activities', () => {
    for (const policy of ELASTIC_POLICIES) {
      expect(mostOf(policy, job, job.reduce)).toBe(4);
      expect(targetOf(policy, job, job.reduce, 0, cell(0))).toBe(4);
    }
  });
});

test('a job takes the same work to its end, whenever workers join it', () => {
  const many = fc.array(
    fc.record({ at: fc.integer({ min: 0, max: 40 }), count: fc.integer({ min: 1, max: 40 }) }),
  );
  fc.assert(
    fc.property(many, fc.integer({ min: 0, max: 1000 }), (joins, seed) => {
      const drawn = drawElasticJob(LOAD, seededRandom(seed), 0, 0);
      const running = new RunningJob(drawn);
      let now = 0;
      let work = 0;
      const pass = (seconds: number): void => {
        work += Math.min(running.workers.length, running.phase.activities) * seconds;
        now += seconds;
      };
      running.join(Int32Array.of(1), now);
      for (const { at, count } of [...joins].sort((a, b) => a.at - b.at)) {
        if (at > now && at - now < running.secondsLeft) pass(at - now);
        running.join(new Int32Array(count), now);
      }
      while (!running.isOver) {
        running.countWork(now);
        pass(running.secondsLeft);
        running.endPhase(now);
      }
      const { map, reduce } = drawn;
      expect(work).toBeCloseTo(map.activities * map.seconds + reduce.activities * reduce.seconds, 3);
      expect(running.workers).toEqual([]);
    }),
  );
});

test('exactly the workers that were asked for from beginning to end: no speed-up, no loss', () => {
  const running = new RunningJob(job);
  running.join(new Int32Array(10), 5);
  expect(running.secondsLeft).toBe(60);
  expect(running.endPhase(65)).toHaveLength(6);
  expect(running.secondsLeft).toBe(30);
  running.endPhase(95);
  expect(running.isOver).toBe(true);
  expect(askedSeconds(job)).toBe(90);
  expect(running.speedUp(95)).toBe(1);
});

describe('a run', () => {
  const base = lightSpec('D', 1, { seed: 3, arrivalScale: 1, horizonSeconds: 4 * 3600 }, {});
  const small = { ...base.cell, hosts: base.cell.hosts.map((kind) => ({ ...kind, count: 300 })) };
  const run = (policy: ElasticPolicy): PointResult =>
    runPoint({
      ...base,
      cell: small,
      load: { batch: null, service: base.load?.service ?? null },
      elastic: { load: LOAD, policy, growEverySeconds: 10 },
    });
  const results = new Map(ELASTIC_POLICIES.map((policy) => [policy, run(policy)]));
  const of = (policy: ElasticPolicy) => results.get(policy)!.elastic!;
  const middle = (policy: ElasticPolicy): number => of(policy).speedUps[100]!;

  test('jobs end sooner the further the policy goes, and as asked nothing changes', () => {
    expect(of('as-asked').gainedShare).toBe(0);
    expect(middle('relative-job-size')).toBeGreaterThan(1.05);
    expect(middle('max-parallelism')).toBeGreaterThanOrEqual(middle('relative-job-size'));
    expect(of('relative-job-size').workersAtMost).toBeGreaterThan(of('as-asked').workersAtMost);
  });

  test('what was taken is given back: after the last job the cell is as full as without any', () => {
    const few = { ...LOAD, gapSeconds: { kind: 'constant' as const, value: 5_000 } };
    const quiet = { ...base, cell: small, load: null, horizonSeconds: 9_000 };
    const spec = {
      ...quiet,
      elastic: { load: few, policy: 'max-parallelism' as const, growEverySeconds: 10 },
    };
    const { elastic } = runPoint(spec);
    expect(elastic?.ended).toBe(1);
    expect(Math.max(...elastic!.cpuUse)).toBeGreaterThan(0);
    expect(elastic!.cpuUse.at(-1)).toBe(0);
  });

  test('the same seed gives the same result', () => {
    expect(run('max-parallelism')).toEqual(results.get('max-parallelism'));
  });
});
