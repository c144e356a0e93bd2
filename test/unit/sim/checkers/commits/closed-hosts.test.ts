import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../../src/core/cell/allocation.ts';
import type { Eligibility } from '../../../../../src/core/host/host.ts';
import type { Job } from '../../../../../src/core/cell/job.ts';
import { eligibilityCodec } from '../../../../../src/wire/records/records.ts';
import { HandRun } from '../../../../support/hand-run.ts';
import { KEYS } from '../../../../support/history-world.ts';

let run: HandRun;
let job: Job;
let one: Allocation;

beforeEach(() => {
  run = new HandRun();
  job = run.job('crunch');
  run.submit(job);
  one = run.allocation(job);
});

describe('I62 a host that is closed', () => {
  it.each(['cordoned', 'draining', 'lost', 'quarantined'] as const)('takes nothing: %s', (state) => {
    run.commit(true, one);
    run.verdict('host-1', state, 1);
    expect(run.broken({ liveness: null, least: {} })).not.toContain('I62');
    run.commit(true, run.allocation(job, { id: 'a0009' }));
    expect(run.broken({ liveness: null, least: {} })).toContain('I62');
  });

  it('takes more when it is open again', () => {
    run.verdict('host-1', 'cordoned', 1);
    run.verdict('host-1', 'ready', 2);
    run.commit(true, one);
    expect(run.broken({ liveness: null, least: {} })).toEqual([]);
  });
});

/** A drain with a deadline, and the quiet period. */
function drain(deadlineMs: number): void {
  run.launch(one, job);
  const drainDeadlineMs = run.nowMs + deadlineMs;
  const eligibility: Eligibility = {
    ...{ state: 'draining', reason: '', by: 'operator', sinceMs: run.nowMs, counter: 1 },
    drainDeadlineMs,
  };
  run.put('monitor-1', KEYS.eligibilityOf('host-1'), eligibilityCodec.encode(eligibility), 'same');
}

describe('I62 a host that is drained', () => {
  it('is not empty though another one has room', () => {
    drain(2_000);
    run.quiet();
    run.finish();
    expect(run.broken()).toContain('I62');
  });

  it('nothing is due before its deadline', () => {
    drain(60_000);
    run.quiet();
    run.finish();
    expect(run.broken()).not.toContain('I62');
  });

  it('nor where no other one has room', () => {
    run = new HandRun(['host-1']);
    run.submit(job);
    one = run.allocation(job);
    drain(2_000);
    run.quiet();
    run.finish();
    expect(run.broken()).not.toContain('I62');
  });
});
