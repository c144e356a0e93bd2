import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../../src/core/cell/allocation.ts';
import type { Job } from '../../../../../src/core/cell/job.ts';
import { allocationCodec } from '../../../../../src/wire/records/records.ts';
import { HandRun } from '../../../../support/hand-run.ts';
import { KEYS } from '../../../../support/history-world.ts';

let run: HandRun;

beforeEach(() => {
  run = new HandRun();
});

/** One allocation of a job of that policy, on a host that is lost. */
function lost(onHostLost: boolean): Allocation {
  const job: Job = run.job('crunch', { reschedule: { onHostLost } });
  run.submit(job);
  const one = run.allocation(job);
  run.commit(true, one);
  run.verdict('host-1', 'lost', 1);
  return one;
}

/** Told to go on because its host is lost. */
function move(one: Allocation): void {
  const marked = { ...one, desired: 'stop' as const, cause: 'host lost' };
  run.put('batch-1', KEYS.allocation(one.namespace, one.job, one.id), allocationCodec.encode(marked), 'same');
}

/** So much time, and something that says that it went by. */
function later(ms: number): void {
  run.nowMs += ms;
  run.alive('host-2');
}

function broken(): string[] {
  return run
    .check({ liveness: null, least: {} })
    .violations.filter(({ invariant }) => invariant === 'S0.1' || invariant === 'I10')
    .map(({ invariant }) => invariant);
}

describe('S0.1 what a lost host held', () => {
  it('is moved where its job asks for it, and may be replaced', () => {
    const one = lost(true);
    move(one);
    later(1_000);
    run.commit(true, { ...one, id: 'a9000', host: 'host-2', attempt: 2 });
    later(6_000);
    expect(broken()).toEqual([]);
  });

  it('stays where its job does not', () => {
    lost(false);
    later(6_000);
    expect(broken()).toEqual([]);
  });

  it('S0.1 is moved though its job does not ask for it', () => {
    move(lost(false));
    expect(broken()).toEqual(['S0.1']);
  });

  it('S0.1 stays though its job asks to be moved', () => {
    lost(true);
    later(4_000);
    expect(broken()).toEqual([]);
    later(2_000);
    expect(broken()).toEqual(['S0.1']);
  });

  it('I10 nothing takes its place though another host has room', () => {
    move(lost(true));
    later(4_000);
    expect(broken()).toEqual([]);
    later(2_000);
    expect(broken()).toEqual(['I10']);
  });

  it('nothing is due of a host that is back, nor where another fault came in between', () => {
    move(lost(true));
    run.verdict('host-1', 'ready', 2);
    later(6_000);
    expect(broken()).toEqual([]);
    run = new HandRun();
    lost(true);
    const cut = { fault: 0, kind: 'cut', targets: ['batch-1', 'store'], what: 'cut' } as const;
    run.history.add('nemesis', { ...cut, phase: 'begin' });
    later(6_000);
    expect(broken()).toEqual([]);
  });
});
