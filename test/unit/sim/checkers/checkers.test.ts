import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../src/core/cell/allocation.ts';
import type { Job } from '../../../../src/core/cell/job.ts';
import { HandRun } from '../../../support/hand-run.ts';

let run: HandRun;
let job: Job;
let one: Allocation;

beforeEach(() => {
  run = new HandRun();
  job = run.job('crunch');
  run.submit(job);
  one = run.allocation(job);
});

describe('a clean run', () => {
  it('holds, and says what it did', () => {
    const started = run.launch(one, job);
    run.nowMs += 500;
    run.end(one, started);
    run.release(one);
    const stays = run.job('stays', { type: 'service' });
    run.submit(stays, 'service-1');
    run.launch(run.allocation(stays, { scheduler: 'service-1', ports: { http: 20_001 } }), stays);
    run.quiet();
    run.finish();
    const report = run.check();
    expect(report.violations).toEqual([]);
    expect(report).toMatchObject({ result: 'holds', done: { committed: 2, started: 2, ended: 1 } });
  });

  it('fails when too little happened in it', () => {
    run.quiet();
    run.finish();
    const report = run.check({ liveness: null, least: { started: 1, faults: 3 } });
    expect(report.result).toBe('too-little');
    expect(report.tooLittle).toEqual(['started: 0 of at least 1', 'faults: 0 of at least 3']);
  });

  it('names the facts that prove a violation, and its time', () => {
    run.commit(true, one);
    run.begin(one);
    const [violation] = run.check().violations;
    expect(violation).toMatchObject({ invariant: 'I44', atMs: 1_000 });
    const claimed = run.history.hosts.find(({ fact }) => fact.kind === 'claimed');
    expect(violation?.evidence).toEqual([claimed?.seq]);
  });
});
