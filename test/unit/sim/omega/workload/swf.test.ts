import { expect, test } from 'vitest';
import { lastEnd, listedJobs } from '../../../../../sim/omega/workload/listed-jobs.ts';
import { readSwf } from '../../../../../sim/omega/workload/swf.ts';

const HEADER = '; Computer: none\n; MaxNodes: 4\n; MaxProcs: 32\n';
const line = (id: number, submit: number, run: number, used: number, asked: number, memory: number): string =>
  `${String(id)} ${String(submit)} 5 ${String(run)} ${String(used)} -1 -1 ${String(asked)} 600 ${String(memory)} 1 1 1 -1 1 -1 -1 -1\n`;

test('each job is a gang of one-core tasks with the memory asked for each processor', () => {
  const log = readSwf(HEADER + line(1, 10, 100, 9, 72, 2_097_152) + line(2, 20, 50, -1, 4, -1));
  expect(log.hosts).toEqual([{ count: 4, cpuMilli: 8000, memoryMib: 12_288, gpuModels: [] }]);
  expect(log.jobs).toMatchObject([
    {
      submitSeconds: 10,
      runtimeSeconds: 100,
      tasks: 9,
      gang: true,
      shape: { cpuMilli: 1000, memoryMib: 2048 },
    },
    { submitSeconds: 20, tasks: 4, shape: { memoryMib: 256 } },
  ]);
});

test('jobs without work are left out and counted; so many jobs and no more', () => {
  const text =
    HEADER +
    line(1, 0, 0, 4, 4, 1) +
    line(2, 0, 5, 0, -1, 1) +
    line(3, 1, 5, 1, 1, 1) +
    line(4, 2, 5, 1, 1, 1);
  expect(readSwf(text)).toMatchObject({ skipped: 2, jobs: { length: 2 } });
  expect(readSwf(text, 1).jobs).toHaveLength(1);
});

test('what is no SWF log is refused', () => {
  expect(() => readSwf(`${HEADER}1 2 three\n`)).toThrow('is not 18 numbers');
  expect(() => readSwf(line(1, 0, 5, 1, 1, 1))).toThrow('MaxNodes');
});

test('a list is given out by submission, from zero on, closer together by the scale; run times stay', () => {
  const { jobs } = readSwf(HEADER + line(1, 110, 7, 1, 1, 1) + line(2, 10, 9, 1, 1, 1));
  const source = listedJobs(jobs, 10);
  expect([source.next(), source.next(), source.next()]).toMatchObject([
    { submitSeconds: 0, runtimeSeconds: 9 },
    { submitSeconds: 10, runtimeSeconds: 7 },
    null,
  ]);
  expect(lastEnd(jobs, 10)).toBe(17);
});
