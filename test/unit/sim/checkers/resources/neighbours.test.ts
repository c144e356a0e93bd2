import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../../src/core/cell/allocation.ts';
import { askOf } from '../../../../../src/core/cell/ask.ts';
import type { Job } from '../../../../../src/core/cell/job.ts';
import { HandRun } from '../../../../support/hand-run.ts';

let run: HandRun;
let latency: Job;
let batch: Job;

beforeEach(() => {
  run = new HandRun();
  latency = run.job('latency', { count: 3, class: 'latency', avoid: ['batch'] });
  batch = run.job('batch', { count: 3, class: 'batch' });
  for (const job of [latency, batch]) run.submit(job);
});

function on(host: string, job: Job): Allocation {
  const group = job.groups[job.name];
  if (group === undefined) throw new Error(`no group ${job.name}`);
  const one = run.allocation(job, { host, resources: askOf(group).resources });
  run.commit(true, one);
  return one;
}

const broken = (): string[] =>
  run.broken({ liveness: null, least: {}, enforcement: false }).filter((name) => name === 'I74');

describe('neighbours that harm each other', () => {
  it('S3.17: I74 on hosts of their own are not told', () => {
    on('host-1', latency);
    on('host-2', batch);
    expect(broken()).toEqual([]);
  });

  it.each([
    ['avoided comes second', () => [latency, batch]],
    ['avoiding comes second', () => [batch, latency]],
  ] as const)('S3.17: I74 on one host are told: what is %s', (_, jobs) => {
    for (const job of jobs()) on('host-1', job);
    expect(broken()).toEqual(['I74']);
  });

  it('S3.17: I74 one that was preempted has given its place up, and runs beside nobody', () => {
    const victim = on('host-1', batch);
    run.mark(victim, 'evict');
    const newcomer = on('host-1', latency);
    expect(broken()).toEqual([]);
    for (const one of [victim, newcomer]) run.begin(one);
    expect(broken()).toEqual(['I74']);
  });
});
