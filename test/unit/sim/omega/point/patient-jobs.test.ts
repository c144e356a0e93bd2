import fc from 'fast-check';
import { expect, test } from 'vitest';
import { listedJobs } from '../../../../../sim/omega/workload/listed-jobs.ts';
import type { SimJob } from '../../../../../sim/omega/workload/workload.ts';
import { ANY_HOST } from '../../../../../sim/omega/workload/workload.ts';
import { runPoint } from '../../../../../sim/omega/point/point.ts';
import type { PointSpec } from '../../../../../sim/omega/point/spec.ts';
import { PATIENT_RETRY } from '../../../../../sim/omega/model/spec.ts';

const CORES = 8;
const NO_TIME = { jobSeconds: 1e-6, taskSeconds: 0 };

const SPEC: PointSpec = {
  cell: {
    hosts: [{ count: CORES / 2, cpuMilli: 2_000, memoryMib: 65_536, gpuModels: [] }],
    prefill: [],
    hostGroups: 1,
  },
  load: null,
  arrivalScale: { batch: 1, service: 1 },
  design: 'shared-state',
  schedulers: { batch: 1, service: 1 },
  decision: { batch: NO_TIME, service: NO_TIME },
  conflictCheck: 'resource-fit',
  atomicity: 'incremental',
  endsMove: false,
  placement: { sample: 1 },
  elastic: null,
  retry: PATIENT_RETRY,
  horizonSeconds: 1e7,
  seed: 1,
};

/**
 * What a plain pool does: whoever came first and fits starts, whenever cores are freed.
 * @returns the mean wait, and how near two things came to happening at once
 */
function greedy(jobs: readonly SimJob[]): { readonly mean: number; readonly nearestSeconds: number } {
  const times: number[] = [];
  let free = CORES;
  let waits = 0;
  const ends: { atSeconds: number; tasks: number }[] = [];
  let line: SimJob[] = [];
  const look = (atSeconds: number): void => {
    times.push(atSeconds);
    line = line.filter((job) => {
      if (job.tasks > free) return true;
      free -= job.tasks;
      waits += atSeconds - job.submitSeconds;
      ends.push({ atSeconds: atSeconds + job.runtimeSeconds, tasks: job.tasks });
      return false;
    });
  };
  const endUntil = (untilSeconds: number): void => {
    for (;;) {
      ends.sort((a, b) => a.atSeconds - b.atSeconds);
      const [next] = ends;
      if (next === undefined || next.atSeconds > untilSeconds) return;
      ends.shift();
      free += next.tasks;
      look(next.atSeconds);
    }
  };
  for (const job of jobs) {
    endUntil(job.submitSeconds);
    line.push(job);
    look(job.submitSeconds);
  }
  endUntil(Infinity);
  const nearestSeconds = Math.min(...times.slice(1).map((time, n) => time - (times[n] ?? 0)));
  return { mean: waits / jobs.length, nearestSeconds };
}

test('what is freed goes to those who have waited, though newcomers stand in the queue', () => {
  const job = (id: number, submitSeconds: number, tasks: number): SimJob => ({
    ...{ id, submitSeconds, tasks, work: 'batch', gang: true, hostGroups: ANY_HOST, runtimeSeconds: 100 },
    shape: { cpuMilli: 1000, memoryMib: 1, gpu: null },
  });
  // The first job runs from 1 to 101 on all cores; the second waits; the others come while a second each is decided.
  const jobs = [job(0, 0, CORES), job(1, 2, CORES), ...[2, 3, 4, 5].map((id) => job(id, 99.5, 1))];
  const decision = { batch: { jobSeconds: 1, taskSeconds: 0 }, service: NO_TIME };
  const run = runPoint({ ...SPEC, decision, horizonSeconds: 120 }, { jobs: listedJobs(jobs, 1) });
  expect(run.classes[0]).toMatchObject({ placed: 2, tasksPlaced: 2 * CORES });
});

/** What each decision takes: by so much the end of the last job of a chain is later than a plain pool's. */
const TICK_SECONDS = 0.001;

const drawn = fc.record({
  gap: fc.integer({ min: 1, max: 40 }),
  run: fc.integer({ min: 1, max: 200 }),
  tasks: fc.integer({ min: 1, max: CORES }),
});

test('patient jobs start as from a plain pool: of those that fit, whoever was submitted first', () => {
  fc.assert(
    fc.property(fc.array(drawn, { minLength: 1, maxLength: 60 }), (list) => {
      let submitSeconds = 0;
      const jobs = list.map(({ gap, run, tasks }, id): SimJob => {
        // The first job stands at 0, and no sum of run times is another's time of submission.
        if (id > 0) submitSeconds += gap + id * 0.013_7;
        const shape = { cpuMilli: 1000, memoryMib: 1, gpu: null };
        const runtimeSeconds = run + id * 0.001_91;
        return {
          id,
          work: 'batch',
          gang: true,
          hostGroups: ANY_HOST,
          tasks,
          submitSeconds,
          runtimeSeconds,
          shape,
        };
      });
      const { mean, nearestSeconds } = greedy(jobs);
      fc.pre(nearestSeconds > jobs.length * TICK_SECONDS);
      const [batch] = runPoint(SPEC, { jobs: listedJobs(jobs, 1) }).classes;
      expect(batch?.placed).toBe(jobs.length);
      expect(Math.abs((batch?.placedMean ?? 0) - mean)).toBeLessThan(0.5);
    }),
    { numRuns: 300 },
  );
});
