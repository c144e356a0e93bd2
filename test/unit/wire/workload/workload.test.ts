import { expect, test } from 'vitest';
import { formatProblem } from '../../../../src/wire/job-file/job-file.ts';
import { parseJobLine, parseMachineLine } from '../../../../src/wire/workload/lines.ts';
import { parseWorkloadText } from '../../../../src/wire/workload/workload.ts';

const GOOD = `
duration: 2h
hosts: [{ count: 3, cpu: 4, memory: 16Gi, gpus: { count: 2, model: T4 } }]
prefill: [{ cpu: 60%, class: batch }]
classes:
  batch:
    every: { mean: 10s }
    tasks: { from: 1, to: 100 }
    runtime: { mix: [{ weight: 3, of: 5s }, { of: { quantiles: [1s, 1m, 1h] } }] }
    task: [{ cpu: 500m, memory: 1Gi, weight: 2 }, { cpu: 1, memory: 2Gi, gpu: { count: 1, share: 0.5 } }]
    picky: { jobs: 10%, hosts: 25% }
`;

test('every form of a distribution, and all units as whole numbers', () => {
  const reading = parseWorkloadText(GOOD, 'w.yaml');
  expect(reading).toMatchObject({
    ok: true,
    workload: {
      duration: 7200,
      hosts: [{ count: 3, cpuMilli: 4000, memoryMib: 16_384, gpuModels: ['T4', 'T4'] }],
      prefill: [{ cpuShare: 0.6, work: 'batch', lives: 'standing' }],
      classes: {
        batch: {
          gapSeconds: { kind: 'exponential', mean: 10 },
          tasks: { kind: 'log-uniform', least: 1, most: 100 },
          runtimeSeconds: {
            kind: 'mixture',
            parts: [
              { weight: 3, of: { kind: 'constant', value: 5 } },
              { weight: 1, of: { kind: 'quantiles', values: [1, 60, 3600] } },
            ],
          },
          shapes: [
            { cpuMilli: 500, memoryMib: 1024, weight: 2, gpu: null },
            { cpuMilli: 1000, memoryMib: 2048, weight: 1, gpu: { count: 1, milliEach: 500, models: [] } },
          ],
          gang: false,
          constraint: { jobShare: 0.1, hostShare: 0.25 },
        },
      },
    },
  });
});

test.each([
  ['duration: 2', 'duration: 2h', /w\.yaml:2:\d+: error: duration: .*needs a unit/],
  ['cpu: 60, class', 'cpu: 60%, class', /prefill\[0\]\.cpu/],
  ['memory: 16,', 'memory: 16Gi,', /hosts\[0\]\.memory: .*needs a unit/],
  ['hostz:', 'hosts:', /hostz/],
])('%s is refused with its place', (wrong, right, expected) => {
  const reading = parseWorkloadText(GOOD.replace(right, wrong), 'w.yaml');
  expect(reading.ok ? '' : reading.problems.map(formatProblem).join('\n')).toMatch(expected);
});

test('a workload without a class says which there are', () => {
  const text = 'duration: 1h\nhosts: [{ count: 1, cpu: 1, memory: 1Gi }]\nclasses: {}\n';
  const reading = parseWorkloadText(text, 'w.yaml');
  expect(reading.ok ? '' : reading.problems.map(formatProblem).join('\n')).toContain('batch and service');
});

test('lines: hosts first, then a job each; a wrong one is named by its number', () => {
  expect(parseMachineLine('{"hosts":[{"count":2,"cpu":8,"memory":"32Gi"}]}').hosts).toHaveLength(1);
  const job = '{"at":1.5,"tasks":3,"runtime":"2m","task":{"cpu":"250m","memory":"64Mi"}}';
  expect(parseJobLine(job, 2)).toMatchObject({
    submitSeconds: 1.5,
    work: 'batch',
    tasks: 3,
    runtimeSeconds: 120,
  });
  expect(() => parseJobLine('{"at":-1}', 7)).toThrow(/^line 7: /);
  expect(() => parseJobLine('{', 8)).toThrow('line 8 is no JSON');
});
