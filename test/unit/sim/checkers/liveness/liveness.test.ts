import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../../src/core/cell/allocation.ts';
import type { Job } from '../../../../../src/core/cell/job.ts';
import { NO_SCALARS } from '../../../../../src/core/cell/resources.ts';
import { SettledProbe } from '../../../../../sim/checkers/settled.ts';
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

function broken(): string[] {
  run.finish();
  return run.broken({ least: {} });
}

describe('I10 slots that could be filled', () => {
  it('I10 a slot that is empty while a host has room', () => {
    run.quiet();
    expect(broken()).toEqual(['I10']);
  });

  it('lets what fits nowhere wait', () => {
    const large = run.job('large', { resources: { cpu: '64', memory: '64Mi' } });
    run.jobRecord(job, 1, 'stop');
    run.submit(large);
    run.quiet();
    expect(broken()).toEqual([]);
  });

  it.each([
    ['a part of each of two', { count: 2, share: '300m' }, true],
    ['more of each of two than one of them has left', { count: 2, share: '600m' }, false],
    ['of a model that there is not', { models: ['b'] }, false],
    ['more than a host has', 3, false],
  ])('I10 a slot that wants devices: %s', (_, gpu, hasRoom) => {
    run.jobRecord(job, 1, 'stop');
    const resources = { cpu: '100m', memory: '64Mi', gpu: { share: '500m' } };
    const holder = run.job('holder', { count: 2, resources });
    run.submit(holder);
    for (const [index, host] of ['host-1', 'host-2'].entries())
      run.launch(run.allocation(holder, { host, index, gpus: [{ device: 0, milli: 500 }] }), holder);
    run.submit(run.job('asks', { resources: { cpu: '100m', memory: '64Mi', gpu } }));
    run.quiet();
    run.finish();
    const empty = run.check({ least: {} }).violations.filter(({ invariant }) => invariant === 'I10');
    expect(empty.map(({ key }) => key)).toEqual(hasRoom ? ['default/asks/asks[0]'] : []);
  });

  it('lets what has just been submitted, and what nobody may place, wait', () => {
    run.quiet();
    run.jobRecord(job, 1, 'stop');
    run.submit(run.job('late'));
    expect(broken()).toEqual([]);
  });

  it('I10 I36 lets wait what only a host could take that is ahead of time, as long as it says so', () => {
    const turn = { fault: 0, kind: 'clock-step', targets: ['host-1', 'host-2'], what: 'clock-step' } as const;
    run.history.add('nemesis', { ...turn, phase: 'begin' });
    run.history.add('nemesis', { ...turn, phase: 'end' });
    for (const host of turn.targets) run.order(one, job, { host, ticket: null, refuse: 'ticket-expired' });
    run.quiet();
    run.finish();
    const i10 = (): number =>
      run.check({ least: {} }).violations.filter(({ invariant }) => invariant === 'I10').length;
    expect(i10()).toBe(0);
    run.order(one, job, { ticket: null, refuse: 'busy' });
    expect(i10()).toBe(1);
  });

  it('I10 a host whose clock nobody turned has no such excuse', () => {
    run.order(one, job, { ticket: null, refuse: 'ticket-expired' });
    run.quiet();
    run.finish();
    expect(run.check({ least: {} }).violations.map(({ invariant }) => invariant)).toContain('I10');
  });

  it.each([
    ['is there', 0, true],
    ['was given away', 4_000, false],
  ])('I10 I53 what runs and the store forgot comes back where its room %s', (_, givenAwayMilli, isDue) => {
    const saved = run.save();
    run.launch(one, job);
    run.restore(saved);
    const taker = run.job('taker');
    run.submit(taker);
    const resources = { cpuMilli: givenAwayMilli, memoryMib: 64, diskMib: 0, scalars: NO_SCALARS };
    run.launch(run.allocation(taker, { host: one.host, resources }), taker);
    run.quiet();
    run.finish();
    const empty = run.check({ least: {} }).violations.filter(({ invariant }) => invariant === 'I10');
    expect(empty.map(({ key }) => key)).toEqual(isDue ? ['default/crunch/crunch[0]'] : []);
  });

  it('lets a slot be that has come to its end', () => {
    run.end(one, run.launch(one, job));
    run.release(one);
    run.quiet();
    expect(broken()).toEqual([]);
  });

  it('lets a slot of a service be that has used up its attempts, and not one that has some left', () => {
    run.jobRecord(job, 1, 'stop');
    const slot = (name: string, attempts: number): void => {
      const reschedule = { attempts, delay: '1s', maxDelay: '1s' };
      const service = run.job(name, { type: 'service', reschedule });
      run.submit(service);
      const only = run.allocation(service);
      run.end(only, run.launch(only, service), { code: 1 });
      run.release(only);
    };
    slot('used-up', 0);
    slot('one-left', 1);
    run.quiet();
    run.finish();
    const empty = run.check({ least: {} }).violations.filter(({ invariant }) => invariant === 'I10');
    expect(empty.map(({ key }) => key)).toEqual(['default/one-left/one-left[0]']);
  });

  it('lets a slot wait for what of its quota was granted and not used, until the ticket has ended', () => {
    const limited = (name: string) => run.job(name, { resources: { cpu: '100m', memory: '64Mi' } });
    run.jobRecord(job, 1, 'stop');
    run.quota('default', 100);
    run.submit(limited('waits'));
    const asks = limited('asks');
    run.submit(asks);
    run.jobRecord(asks, 1, 'stop');
    run.grant(run.allocation(asks), asks);
    run.quiet();
    expect(broken()).toEqual([]);
  });

  it('I10 a slot that nothing of its quota holds up any more', () => {
    run.jobRecord(job, 1, 'stop');
    run.quota('default', 100);
    const limited = run.job('waits', { resources: { cpu: '100m', memory: '64Mi' } });
    run.submit(limited);
    run.grant(run.allocation(job), job);
    run.quiet(60_000);
    expect(broken()).toEqual(['I10']);
  });

  it('I24 a slot that waits longer than it may', () => {
    const short = run.job('short', { waitMax: '5s', resources: { cpu: '64', memory: '64Mi' } });
    run.jobRecord(job, 1, 'stop');
    run.submit(short);
    run.quiet();
    expect(broken()).toEqual(['I24']);
  });
});

describe('I55 what is reserved, and what runs', () => {
  it('I55 an allocation that was never started', () => {
    run.commit(true, one);
    run.quiet();
    expect(broken()).toEqual(['I55']);
  });

  it('S1.9 I55 an allocation that should be gone, with its task', () => {
    run.launch(one, job);
    run.mark(one, 'stop');
    run.quiet();
    run.finish();
    expect(run.check({ least: {} }).violations.map(({ detail }) => detail)).toEqual([
      'should be gone since 1.000 s, and is still in the store',
      'still runs on host-1, and should not since 1.000 s',
    ]);
  });

  it('I55 an allocation of a job that was stopped', () => {
    run.launch(one, job);
    run.jobRecord(job, 1, 'stop');
    run.quiet();
    expect(broken()).toEqual(['I55']);
  });

  it('I55 an allocation that has ended and still holds its room', () => {
    run.end(one, run.launch(one, job));
    run.quiet();
    expect(broken()).toEqual(['I55']);
  });

  it('asks nothing of a host that is away', () => {
    run.commit(true, one);
    run.drop(null, KEYS.aliveOf('host-1'));
    run.quiet();
    expect(broken()).toEqual([]);
  });
});

describe('what is asked while the run goes on', () => {
  const times = { knownMs: 10_000, placeMs: 5_000, stopMs: 5_000 };
  const dueMs = times.knownMs + Math.max(times.placeMs, times.stopMs);

  const anew = (): SettledProbe => new SettledProbe(run.history, { keys: KEYS, hosts: 2, times });

  /** @param afterMs since the last fault */
  function openAt(afterMs: number, look = anew()): string[] {
    const quietMs = run.history.phases[0]?.atMs ?? run.nowMs;
    return look.openAt(quietMs + afterMs).violations.map(({ invariant }) => invariant);
  }

  it('I55 what should have been started is open when it is due, and not before', () => {
    run.commit(true, one);
    run.quiet();
    expect(openAt(dueMs - 1)).toEqual([]);
    expect(openAt(dueMs)).toEqual(['I55']);
  });

  it('I55 who has looked before sees what came since, and no longer what is done', () => {
    run.commit(true, one);
    run.quiet();
    const look = anew();
    expect(openAt(dueMs, look)).toEqual(['I55']);
    run.end(one, run.launch(one, job));
    expect(openAt(dueMs, look)).toEqual([]);
    run.jobRecord(job, 1, 'stop');
    const laterMs = run.nowMs + dueMs;
    expect(openAt(laterMs, look)).toEqual(openAt(laterMs));
    expect(openAt(laterMs, look)).not.toEqual([]);
  });

  it('I55 what should be gone is open when its grace is over, too', () => {
    const graceMs = 2_000;
    const brief = run.job('brief', { stop: { signal: 'SIGTERM', grace: '2s' } });
    run.jobRecord(job, 1, 'stop');
    run.submit(brief);
    const other = run.allocation(brief);
    run.launch(other, brief);
    run.mark(other, 'stop');
    run.quiet();
    expect(openAt(dueMs + graceMs - 1)).toEqual([]);
    expect(openAt(dueMs + graceMs)).toEqual(['I55', 'I55']);
  });

  it('I10 counts from the last kill, where a crash sweep kills in the quiet', () => {
    const laterMs = 5_000;
    run.quiet(laterMs);
    run.history.add('actors', { actor: 'batch-1', role: 'scheduler', instance: 1, change: 'killed' });
    expect(openAt(dueMs + laterMs - 1)).toEqual([]);
    expect(openAt(dueMs + laterMs)).toEqual(['I10']);
  });

  it('I10 a slot that could be filled is open when it is due', () => {
    run.quiet();
    expect(openAt(dueMs - 1)).toEqual([]);
    expect(openAt(dueMs)).toEqual(['I10']);
  });
});
