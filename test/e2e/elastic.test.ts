import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AllocationListAnswer } from '../../src/wire/api/monitor-api.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { runCli, startDevCell, testFolder } from '../support/cli.ts';
import { until } from '../support/until.ts';

const folder = testFolder();
let cell: DevCellProcess;

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });
const fileOf = (job: { readonly name: string }): string => {
  const path = join(folder.path, `${job.name}.yaml`);
  writeFileSync(path, JSON.stringify({ type: 'batch', ...job }));
  return path;
};
const slotsRunning = async (job: string): Promise<readonly number[]> => {
  const { allocations } = JSON.parse((await moorage('ps', job, '-o', 'json')).stdout) as AllocationListAnswer;
  return allocations
    .filter(({ allocation, report }) => allocation.desired === 'run' && report?.state === 'running')
    .map(({ allocation }) => allocation.index)
    .sort((a, b) => a - b);
};
const why = async (): Promise<string> => (await moorage('why', 'crawl')).stdout;

beforeAll(async () => {
  cell = await startDevCell(folder.path, [
    ...['--hosts', '2', '--monitors', '1', '--arbiters', '1', '--schedulers', 'batch,elastic'],
  ]);
});
afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

describe('an elastic job of a cell of two hosts with four cores each', () => {
  it('S3.26 I1 grows on the idle cell, gives its surplus to a job of the lowest priority, keeps its minimum, and grows again', async () => {
    const crawl = fileOf({
      ...{ name: 'crawl', count: { min: 2, max: 10 }, script: 'sleep 100000' },
      ...{ resources: { cpu: '1', memory: '64Mi' } },
    });
    const plan = await moorage('plan', crawl);
    expect(plan.stdout).toContain('group crawl has 2, and grows to 10 while there is idle capacity');
    expect((await moorage('run', '-d', crawl)).stderr).toBe('');

    // 60 percent of eight cores, without what the hosts reserve, are four whole ones.
    await until(why, (text) => text.includes('4 of 2..10, grown into idle capacity by global-cap'));
    await until(
      () => slotsRunning('crawl'),
      (slots) => slots.length === 4,
    );
    expect((await moorage('ps')).stdout).toMatch(/crawl +batch +50 +running +2\.\.10 +4 +4/);
    expect((await moorage('status', 'crawl')).stdout).toContain('wanted 2..10, placed 4, running 4');

    const report = fileOf({
      ...{ name: 'report', priority: 0, count: 3, script: 'sleep 100000' },
      ...{ resources: { cpu: '1500m', memory: '64Mi' } },
    });
    expect((await moorage('run', '-d', report)).stderr).toBe('');
    await until(
      () => slotsRunning('report'),
      (slots) => slots.join() === '0,1,2',
    );
    expect(await slotsRunning('crawl')).toEqual([0, 1]);
    await until(why, (text) => text.includes('2 of 2..10: no idle capacity for more by global-cap'));
    expect((await moorage('status', 'crawl')).stdout).toContain('evicted by default/report');

    expect((await moorage('stop', 'report', '--wait', '--timeout', '200s')).code).toBe(0);
    await until(
      () => slotsRunning('crawl'),
      (slots) => slots.join() === '0,1,2,3',
    );
    expect((await moorage('scale', 'crawl', '3')).stderr).toContain('grows and gives back by itself');
    expect((await moorage('check')).stdout).toContain('no violation of');
    expect((await moorage('stop', 'crawl', '--wait', '--timeout', '200s')).code).toBe(0);
  });

  it('I9 S3.46 surplus counts against the quota of its namespace, and says that it does', async () => {
    expect((await moorage('quota', 'set', 'default', '--cpu', '3')).stdout).toBe('default\n');
    const bounded = fileOf({
      ...{ name: 'crawl', count: { min: 2, max: 10 }, script: 'sleep 100000' },
      ...{ resources: { cpu: '1', memory: '64Mi' } },
    });
    expect((await moorage('run', '-d', bounded)).stderr).toBe('');
    await until(why, (text) => text.includes('3 of 2..10') && text.includes('grows no further'));
    expect(await why()).toContain('quota of default');
    expect((await moorage('quota', 'rm', 'default')).code).toBe(0);
    await until(
      () => slotsRunning('crawl'),
      (slots) => slots.length === 4,
    );
    expect((await moorage('stop', 'crawl', '--wait', '--timeout', '200s')).code).toBe(0);
  });
});
