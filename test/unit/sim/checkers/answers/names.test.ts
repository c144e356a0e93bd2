import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../../src/core/cell/allocation.ts';
import type { Job } from '../../../../../src/core/cell/job.ts';
import type { Started } from '../../../../support/hand-run.ts';
import { HandRun } from '../../../../support/hand-run.ts';

let run: HandRun;
let job: Job;
let one: Allocation;
let started: Started;

beforeEach(() => {
  run = new HandRun();
  job = run.job('web', { type: 'service', ports: { http: 'auto' } });
  run.submit(job, 'service-1');
  one = run.allocation(job, { scheduler: 'service-1', ports: { http: 20_000 } });
  started = run.launch(one, job);
  run.nowMs += 30_000;
});

/** What host-2 would tell its tasks now. */
function told(changes: { readonly isStale?: boolean; readonly staleSinceMs?: number } = {}): void {
  const { isStale = false, ...stale } = changes;
  const { id: allocation, host } = one;
  const endpoint = { allocation, host, index: 0, jobVersion: 1, address: host, port: 20_000, ...stale };
  run.history.add('names', { host: 'host-2', name: 'http.web.web.default', endpoints: [endpoint], isStale });
}

const broken = (): boolean => run.broken({ liveness: null, least: {} }).includes('I69');

describe('I69 a name with an endpoint', () => {
  it('of an instance that runs', () => {
    told();
    expect(broken()).toBe(false);
  });

  it('of one whose process has just ended, and of one that ended long ago', () => {
    run.end(one, started);
    run.nowMs += 1_000;
    told();
    expect(broken()).toBe(false);
    run.nowMs += 10_000;
    told();
    expect(broken()).toBe(true);
  });

  it('of one that ended long ago, told as old', () => {
    run.end(one, started);
    run.nowMs += 10_000;
    told({ isStale: true });
    told({ staleSinceMs: 5 });
    expect(broken()).toBe(false);
  });

  it('of one whose end was ordered long ago', () => {
    run.mark(one, 'stop');
    run.nowMs += 10_000;
    told();
    expect(broken()).toBe(true);
  });

  it('of a host that is lost, also when it is told as old', () => {
    run.verdict('host-1', 'lost', 1);
    run.nowMs += 10_000;
    told({ staleSinceMs: 5 });
    expect(broken()).toBe(true);
  });

  it('after a fault that may have kept it from the host', () => {
    run.history.add('nemesis', {
      fault: 1,
      kind: 'cut',
      phase: 'begin',
      targets: ['host-2', 'store'],
      what: '',
    });
    run.mark(one, 'stop');
    run.nowMs += 10_000;
    told();
    expect(broken()).toBe(false);
  });
});
