import { recordRandomFaults } from '../../../../../sim/nemesis/random-faults.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../../src/core/cell/allocation.ts';
import type { Job } from '../../../../../src/core/cell/job.ts';
import { hostCodec } from '../../../../../src/wire/records/records.ts';
import { HandRun } from '../../../../support/hand-run.ts';
import { KEYS, someHost } from '../../../../support/history-world.ts';

let run: HandRun;
let job: Job;
let one: Allocation;

beforeEach(() => {
  run = new HandRun();
  job = run.job('crunch', { count: 2 });
  run.submit(job);
  one = run.allocation(job);
});

const quick = { liveness: null, least: {} };

describe('I13 one process tree', () => {
  it('I13 an attempt that two shims claim, whose command runs twice', () => {
    run.launch(one, job);
    expect(run.broken(quick)).toEqual([]);
    run.begin(one);
    expect(run.broken(quick)).toEqual(['I13']);
  });

  it('I13 a restart beside the attempt before it', () => {
    const restarts = run.job('again', { restart: { attempts: 3 } });
    run.submit(restarts);
    const two = run.allocation(restarts, { index: 1 });
    const first = run.launch(two, restarts);
    run.end(two, first, { code: 1 });
    run.begin(two, 2);
    expect(run.broken(quick)).toEqual([]);
    run.begin(two, 3);
    expect(run.broken(quick)).toEqual(['I13']);
  });

  it('I13 a process that was not committed, and one that was committed to another host', () => {
    run.grant(one, job);
    run.order(one, job);
    run.begin(one);
    expect(run.broken(quick)).toEqual(['I13']);
  });

  it('I13 what runs on another host than it was committed to', () => {
    run.launch(one, job);
    const strange = { ...one, host: 'host-2' };
    run.grant(strange, job, { jti: 'other' });
    run.order(strange, job);
    run.begin(strange, 2);
    expect(run.broken(quick)).toContain('I13');
  });
});

describe('I16 I26 I30 signals', () => {
  it('takes a stop that was ordered, with what follows from it', () => {
    const started = run.launch(one, job);
    run.mark(one, 'stop');
    run.orderStop(one);
    run.signal('host-1', started);
    run.end(one, started, { signal: 'SIGTERM' });
    expect(run.broken(quick)).toEqual([]);
  });

  it('S3.30 I16 a task that is stopped without an order', () => {
    run.signal('host-1', run.launch(one, job));
    expect(run.broken(quick)).toEqual(['I16']);
  });

  it('I16 a task stops by itself where its host may be cut off, and nowhere else', () => {
    const leaving = run.job('leaving', { disconnect: { stopAfter: '20s' } });
    run.submit(leaving);
    const two = run.allocation(leaving);
    const started = run.launch(two, leaving);
    run.nowMs += 20_000;
    run.signal('host-1', started);
    expect(run.broken(quick)).toEqual(['I16']);
    const cut = { fault: 0, kind: 'isolate', phase: 'begin', targets: ['host-1'], what: '' } as const;
    run.history.add('nemesis', cut);
    run.nowMs += 20_000;
    run.signal('host-1', started);
    expect(run.check(quick).violationsTotal).toBe(1);
  });

  for (const [faults, found] of [
    [{ store: { readFails: 0.5 } }, []],
    [{ network: { loss: 0.1 } }, []],
    [{ network: { double: 0.5 } }, ['I16']],
  ] as const)
    it(`I16 ${found.length > 0 ? 'not ' : ''}excused by random faults: ${JSON.stringify(faults)}`, () => {
      const leaving = run.job('leaving', { disconnect: { stopAfter: '20s' } });
      run.submit(leaving);
      const over = recordRandomFaults(faults, 0, run.history);
      const started = run.launch(run.allocation(leaving), leaving);
      run.nowMs += 20_000;
      run.signal('host-1', started);
      over();
      expect(run.broken(quick)).toEqual(found);
    });

  it('I16 a fault that was over long before excuses no kill, nor does one that did not last long enough', () => {
    const leaving = run.job('leaving', { disconnect: { stopAfter: '20s' } });
    run.submit(leaving);
    const two = run.allocation(leaving);
    const started = run.launch(two, leaving);
    const cut = { kind: 'cut', targets: ['host-1', 'store'], what: '' } as const;
    const spell = (fault: number, lastsMs: number): void => {
      run.history.add('nemesis', { ...cut, fault, phase: 'begin' });
      run.nowMs += lastsMs;
      run.history.add('nemesis', { ...cut, fault, phase: 'end' });
    };
    spell(0, 20_000);
    run.signal('host-1', started);
    expect(run.broken(quick)).toEqual([]);
    run.nowMs += 60_000;
    run.signal('host-1', started);
    expect(run.check(quick).violationsTotal).toBe(1);
    run.nowMs += 60_000;
    spell(1, 4_000);
    run.signal('host-1', started);
    expect(run.check(quick).violationsTotal).toBe(2);
    // One after the other, with no time between in which it could have come back.
    run.nowMs += 60_000;
    for (const fault of [2, 3, 4]) spell(fault, 7_000);
    run.signal('host-1', started);
    expect(run.check(quick).violationsTotal).toBe(2);
  });

  it('I26 a task that ends by a signal that was not sent', () => {
    run.end(one, run.launch(one, job), { signal: 'SIGKILL' });
    expect(run.broken(quick)).toEqual(['I26']);
  });

  it('I30 a signal that reaches a process of another attempt', () => {
    const started = run.launch(one, job);
    run.orderStop(one);
    run.signal('host-1', started, { owner: null });
    expect(run.broken(quick)).toEqual(['I30']);
  });
});

describe('S0.15 I14 I15 two of one slot', () => {
  const other = (): Allocation => run.allocation(job, { host: 'host-2', attempt: 2 });

  it('I14 a replacement beside a task on a host that was never lost', () => {
    run.launch(one, job);
    run.mark(one, 'stop');
    run.launch(other(), job);
    expect(run.broken(quick)).toEqual(['I14']);
  });

  it('S3.32 lets a replacement run beside a task on a lost host, until soon after its return', () => {
    const started = run.launch(one, job);
    run.verdict('host-1', 'lost', 1);
    run.mark(one, 'stop');
    run.launch(other(), job);
    run.nowMs += 60_000;
    run.verdict('host-1', 'ready', 2);
    run.nowMs += 9_000;
    run.orderStop(one);
    run.signal('host-1', started);
    run.end(one, started, { signal: 'SIGTERM' });
    expect(run.broken(quick)).not.toContain('I14');
    expect(run.broken(quick)).not.toContain('I15');
  });

  it('I14 a replacement beside a task that was to stop before, since its host was cut off', () => {
    const careful = run.job('careful', { count: 1, disconnect: { stopAfter: '15s' } });
    run.submit(careful);
    const first = run.allocation(careful);
    run.launch(first, careful);
    run.verdict('host-1', 'lost', 1);
    run.mark(first, 'stop');
    run.launch(run.allocation(careful, { host: 'host-2', attempt: 2 }), careful);
    expect(run.broken(quick)).toContain('I14');
  });

  it('I15 two of a slot long after the return', () => {
    run.launch(one, job);
    run.verdict('host-1', 'lost', 1);
    run.mark(one, 'stop');
    run.launch(other(), job);
    run.verdict('host-1', 'ready', 2);
    run.nowMs += 60_000;
    run.history.phase('end');
    expect(run.broken(quick)).toContain('I15');
  });
});

describe('I21 I22 how often a command runs', () => {
  it('I21 a job that is to run at most once, and is restarted', () => {
    const once = run.job('once', { restart: { attempts: 0 }, reschedule: { attempts: 0 } });
    run.submit(once);
    const two = run.allocation(once, { index: 1 });
    run.end(two, run.launch(two, once), { code: 1 });
    expect(run.broken(quick)).toEqual([]);
    run.begin(two, 2);
    expect(run.broken(quick)).toEqual(['I21']);
  });

  it('I21 a job that is to run at most once, and is placed again', () => {
    const once = run.job('once', { restart: { attempts: 0 }, reschedule: { attempts: 0 } });
    run.submit(once);
    const [first, second] = [run.allocation(once), run.allocation(once, { attempt: 2 })];
    for (const allocation of [first, second]) {
      run.end(allocation, run.launch(allocation, once), { code: 1 });
      run.release(allocation, { state: 'failed', exit: { code: 1 } });
    }
    expect(run.broken(quick)).toEqual(['I21']);
  });

  it('I22 more restarts in a window than the policy has', () => {
    const twice = run.job('twice', { restart: { attempts: 2, window: '10m' } });
    run.submit(twice);
    const two = run.allocation(twice);
    let started = run.launch(two, twice);
    for (const number of [2, 3]) {
      run.end(two, started, { code: 1 });
      started = run.begin(two, number);
    }
    expect(run.broken(quick)).toEqual([]);
    run.end(two, started, { code: 1 });
    run.begin(two, 4);
    expect(run.broken(quick)).toEqual(['I22']);
  });
});

describe('I23 ends', () => {
  it('I23 an outcome that says another code than the process ended with', () => {
    run.end(one, run.launch(one, job), { code: 3 });
    run.release(one, { exit: { code: 0 } });
    expect(run.broken(quick)).toEqual(['I23']);
  });

  it('I23 an end that is reported as a reboot or as never started, and was neither', () => {
    run.end(one, run.launch(one, job), { code: 0 });
    run.release(one, { state: 'lost', exit: { lost: 'host-reboot' } });
    const two = run.allocation(job, { index: 1 });
    run.end(two, run.launch(two, job), { code: 0 });
    run.release(two, { state: 'lost', exit: { lost: 'never-started' } });
    expect(run.check(quick).violationsTotal).toBe(2);
  });

  it('I23 a process that ends twice', () => {
    const started = run.launch(one, job);
    run.end(one, started);
    run.end(one, started);
    expect(run.broken(quick)).toEqual(['I23']);
  });

  it('takes a loss by reboot when power was lost', () => {
    run.launch(one, job);
    run.history.add('hosts', { kind: 'power-off', host: 'host-1' });
    run.history.add('hosts', { kind: 'boot', host: 'host-1', boot: 'second' });
    run.release(one, { state: 'lost', exit: { lost: 'host-reboot' } });
    expect(run.broken(quick)).toEqual([]);
  });
});

describe('I45 I47 rooms and ports', () => {
  it('I45 room that is given back while the task runs', () => {
    run.launch(one, job);
    run.release(one, null);
    expect(run.broken(quick)).toContain('I45');
  });

  it('I45 a task that is started after its room was given back', () => {
    run.grant(one, job);
    run.commit(true, one);
    run.order(one, job);
    run.release(one, null);
    run.begin(one);
    expect(run.broken(quick)).toEqual(['I45']);
  });

  it('I45 room that is given back while a port of it is still bound', () => {
    const two = run.allocation(job, { ports: { http: 20_001 } });
    const { attempt, process } = run.launch(two, job);
    run.history.add('hosts', { kind: 'ended', host: 'host-1', attempt, process, exit: { code: 0 } });
    run.release(two);
    run.history.add('hosts', { kind: 'freed', host: 'host-1', what: 'port', name: '20001', attempt });
    expect(run.broken(quick)).toEqual(['I45']);
  });

  it('I1 more that runs on a host than it has room for, though its ledger is right', () => {
    const half = { resources: { ...one.resources, cpuMilli: 3_000 }, precedence: 10 };
    const [victim, newcomer] = [run.allocation(job, half), run.allocation(job, { ...half, index: 1 })];
    run.launch(victim, job);
    run.release(victim, { state: 'killed', exit: { signal: 'SIGTERM' } });
    run.launch(newcomer, job);
    expect(run.broken(quick)).toContain('I1');
  });

  it('I1 a part of a device that runs beside another for which it has no room, though its ledger is right', () => {
    const parts = run.job('parts', { count: 3, resources: { gpu: { share: '600m' } } });
    run.submit(parts);
    const on = (index: number, device: number): Allocation =>
      run.allocation(parts, { index, gpus: [{ device, milli: 600 }] });
    const [victim, beside, newcomer] = [on(0, 1), on(1, 0), on(2, 1)];
    run.launch(victim, parts);
    run.launch(beside, parts);
    expect(run.broken(quick)).toEqual([]);
    run.release(victim, { state: 'killed', exit: { signal: 'SIGTERM' } });
    run.launch(newcomer, parts);
    expect(run.broken(quick)).toContain('I1');
  });

  it.each([
    ['another than its own', [1]],
    ['more than its own', [0, 1]],
    ['none', []],
  ])('I2 a task is given devices: %s', (_, gpus) => {
    const whole = run.job('whole', { resources: { gpu: 1 } });
    run.submit(whole);
    const two = run.allocation(whole, { gpus: [{ device: 0, milli: 1_000 }] });
    run.grant(two, whole);
    run.commit(true, two);
    run.order(two, whole);
    run.begin(two, 1, { task: 'whole', gpus });
    expect(run.broken(quick)).toEqual(['I2']);
  });

  it('I2 a task that asked for none is given a device', () => {
    run.grant(one, job);
    run.commit(true, one);
    run.order(one, job);
    run.begin(one, 1, { task: 'crunch', gpus: [0] });
    expect(run.broken(quick)).toEqual(['I2']);
  });

  it('I8 a task that is started after its stop was acknowledged, by an agent that came back', () => {
    const first = run.launch(one, job);
    run.orderStop(one);
    run.signal('host-1', first);
    run.end(one, first, { signal: 'SIGTERM' });
    run.role('host-1', 'agent');
    run.begin(one, 2);
    expect(run.broken(quick)).toContain('I8');
  });

  it('I47 a port that is bound by a task to which it was not given, and by two at once', () => {
    const port = { ports: { http: 20_001 } };
    const [a, b] = [run.allocation(job, port), run.allocation(job, { index: 1 })];
    run.launch(a, job);
    const started = run.launch(b, job);
    expect(run.broken(quick)).toEqual([]);
    run.history.add('hosts', {
      kind: 'bound',
      host: 'host-1',
      what: 'port',
      name: '20001',
      attempt: started.attempt,
    });
    expect(run.check(quick).violationsTotal).toBe(2);
    expect(run.broken(quick)).toEqual(['I47']);
  });
});

describe('I27 I33 what a restarted agent finds', () => {
  it('I27 a task that lives and is not reported, or reported as ended', () => {
    run.launch(one, job);
    run.nowMs += 5_000;
    run.listing('host-1', []);
    expect(run.broken(quick)).toEqual(['I27']);
  });

  it('I27 a task that has ended and is still reported to run', () => {
    const started = run.launch(one, job);
    const reports = run.reportsOf('host-1');
    run.nowMs += 5_000;
    run.end(one, started);
    run.listing('host-1', reports);
    expect(run.broken(quick)).toEqual([]);
    run.nowMs += 5_000;
    run.listing('host-1', reports);
    expect(run.broken(quick)).toEqual(['I27']);
  });

  it('I33 a task of an earlier boot that is reported to run', () => {
    run.launch(one, job);
    const reports = run.reportsOf('host-1');
    run.nowMs += 5_000;
    run.history.add('hosts', { kind: 'power-off', host: 'host-1' });
    run.history.add('hosts', { kind: 'boot', host: 'host-1', boot: 'second' });
    run.nowMs += 5_000;
    run.listing('host-1', reports);
    expect(run.broken(quick)).toEqual(['I33']);
  });
});

describe('I45 I47 addresses that a host lends', () => {
  const lent = { resources: { cpuMilli: 100, memoryMib: 64, diskMib: 0, scalars: { addresses: 1 } } };
  const [a, b] = ['127.64.0.1', '127.64.0.2'] as const;

  beforeEach(() => {
    run = new HandRun();
    const whole = someHost('host-1');
    const scalars = { ...whole.capacity.scalars, addresses: 2 };
    const capacity = { ...whole.capacity, scalars };
    run.put(
      'host-1',
      KEYS.host('host-1'),
      hostCodec.encode({ ...whole, bootId: 'boot-host-1', capacity }),
      'same',
    );
    run.submit(job);
  });

  const bind = (attempt: string, name: string, kind: 'bound' | 'freed' = 'bound'): void =>
    run.history.add('hosts', { kind, host: 'host-1', what: 'address', name, attempt });

  /** A task that has the address, ends and is released. */
  function lendAndRelease(index: number, address: string): void {
    const allocation = run.allocation(job, { ...lent, index });
    const started = run.launch(allocation, job);
    bind(started.attempt, address);
    bind(started.attempt, address, 'freed');
    run.end(allocation, started);
    run.release(allocation);
  }

  const launch = (index: number): string => run.launch(run.allocation(job, { ...lent, index }), job).attempt;

  it('I45 takes what was never lent before what was freed just now', () => {
    lendAndRelease(0, a);
    bind(launch(1), b);
    expect(run.broken(quick)).toEqual([]);
  });

  it('I45 sees the one that has rested for less', () => {
    lendAndRelease(0, a);
    bind(launch(1), a);
    expect(run.broken(quick)).toEqual(['I45']);
  });

  it('I45 asks nothing of a host that something happened to', () => {
    run.history.add('nemesis', { fault: 0, kind: 'kill', phase: 'begin', targets: ['host-1'], what: '' });
    lendAndRelease(0, a);
    bind(launch(1), a);
    expect(run.broken(quick)).toEqual([]);
  });

  it('I47 an address that two have, of which one was not given it', () => {
    const first = launch(0);
    bind(first, a);
    bind(launch(1), a);
    expect(run.broken(quick)).toEqual(['I47']);
  });

  it('I47 an address of a task that claims none', () => {
    const plain = run.launch(run.allocation(job), job);
    bind(plain.attempt, a);
    expect(run.broken(quick)).toEqual(['I47']);
  });
});
