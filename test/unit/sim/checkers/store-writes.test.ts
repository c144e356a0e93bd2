import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../src/core/cell/allocation.ts';
import type { Job } from '../../../../src/core/cell/job.ts';
import { jobCodec, ownerCodec, roleCodec } from '../../../../src/wire/records/records.ts';
import { HandRun } from '../../../support/hand-run.ts';
import { KEYS } from '../../../support/history-world.ts';

let run: HandRun;
let job: Job;
let one: Allocation;

beforeEach(() => {
  run = new HandRun();
  job = run.job('crunch', { count: 3 });
  run.submit(job);
  one = run.allocation(job);
});

const quick = { liveness: null, least: {} };

describe('I4 and I7 by what a write compared', () => {
  it('finds nothing in commits that compare ledger and owner', () => {
    run.commit(true, one);
    run.release(one, { exit: { lost: 'never-started' } });
    expect(run.broken(quick)).toEqual([]);
  });

  it('I4 a commit that compared nothing, though it did no harm', () => {
    run.commit(false, one);
    expect(run.broken(quick)).toEqual(['I4', 'I7']);
  });

  it('I7 an allocation that is released without comparing the owner of its job', () => {
    run.commit(true, one);
    run.release(one, { exit: { lost: 'never-started' } }, { guarded: false });
    expect(run.broken(quick)).toEqual(['I7']);
  });

  it('I4 an outcome that nothing guards', () => {
    run.commit(true, one);
    const key = KEYS.outcome('default', 'other', 'x');
    run.put('batch-1', key, '{}', 'none');
    expect(run.broken(quick)).toContain('I7');
  });

  it('I7 a job written without a look at what it replaces', () => {
    const record = { job, version: 2, desired: 'run' as const, submittedAtMs: 1 };
    run.put('monitor-1', KEYS.job('default', job.name), jobCodec.encode(record), 'none');
    expect(run.broken(quick)).toEqual(['I7']);
  });
});

describe('I7 by who wrote', () => {
  it('I7 a job written by a scheduler', () => {
    const record = { job, version: 2, desired: 'run' as const, submittedAtMs: 1 };
    run.put('batch-1', KEYS.job('default', job.name), jobCodec.encode(record), 'same');
    expect(run.broken(quick)).toEqual(['I7']);
  });

  it('I7 a registration written by another host', () => {
    run.drop('host-2', KEYS.host('host-1'));
    expect(run.broken(quick)).toEqual(['I7']);
  });

  it('I7 a key that no role owns, and a writer of no role', () => {
    run.put('batch-1', `${KEYS.root}stray`, '{}', 'same');
    run.put('stranger', KEYS.owner('default', 'x'), ownerCodec.encode(someOwner), 'absent');
    expect(run.check(quick).violations.map(({ detail }) => detail)).toEqual([
      'no role owns this key',
      'put by stranger, of no role',
    ]);
  });

  it('I7 a role that speaks for another', () => {
    const record = {
      kind: 'arbiter' as const,
      id: 'arbiter-9',
      address: '',
      version: '0',
      policy: '',
      startedAtMs: 0,
    };
    run.put('arbiter-1', KEYS.role('arbiter', 'arbiter-9'), roleCodec.encode(record), 'same');
    expect(run.broken(quick)).toEqual(['I7']);
  });

  it('lets the end of a session delete, and do nothing else', () => {
    run.drop(null, KEYS.aliveOf('host-1'));
    expect(run.broken(quick)).toEqual([]);
    run.write(null, [{ kind: 'put', key: KEYS.aliveOf('host-1'), value: '{}' }], []);
    expect(run.broken(quick)).toEqual(['I7']);
  });

  const someOwner = { scheduler: 'stranger', kind: 'batch', sinceMs: 0 };
});

describe('I6 gangs', () => {
  const gang = (planId: string, index: number, attempt = 1): Allocation =>
    run.allocation(job, { planId, index, attempt });

  beforeEach(() => {
    job = run.job('gang', { count: 3, gang: true });
    run.submit(job);
  });

  it('lets a whole gang be seen at once, and one of its members be replaced later', () => {
    const [a, b, c] = [gang('p', 0), gang('p', 1), gang('p', 2)];
    run.commit(true, a, b, c);
    run.release(a, { exit: { lost: 'never-started' } });
    run.commit(true, gang('q', 0, 2));
    expect(run.broken(quick)).toEqual([]);
  });

  it('I6 a part of a gang that is seen alone', () => {
    run.commit(true, gang('p', 0), gang('p', 1));
    expect(run.broken(quick)).toEqual(['I6']);
  });

  it('I6 a claim that is released while other members of the gang stay', () => {
    const [a, b, c] = [gang('p', 0), gang('p', 1), gang('p', 2)];
    run.commit(true, a, b, c);
    run.release(a, null);
    expect(run.broken(quick)).toEqual(['I6']);
  });

  it('I6 a gang that begins again with less than all', () => {
    const [a, b, c] = [gang('p', 0), gang('p', 1), gang('p', 2)];
    run.commit(true, a, b, c);
    for (const member of [a, b, c]) run.release(member, { state: 'killed', cause: 'gang begins again' });
    run.commit(true, gang('q', 0, 2), gang('q', 1, 2));
    expect(run.broken(quick)).toEqual(['I6']);
  });

  it('I6 a gang that is seen in two steps', () => {
    run.commit(true, gang('p', 0), gang('p', 1), gang('p', 2));
    run.commit(true, gang('p', 3));
    expect(run.broken(quick)).toEqual(['I6']);
  });
});

describe('I22 attempts at a slot', () => {
  it('lets a slot be filled anew by a later attempt', () => {
    const first = run.allocation(job, { index: 0 });
    run.commit(true, first);
    run.release(first, { state: 'failed' });
    run.commit(true, run.allocation(job, { index: 0, attempt: 2 }));
    expect(run.broken(quick)).toEqual([]);
  });

  it('I22 what has ended is begun again as if nothing had been', () => {
    const first = run.allocation(job, { index: 0 });
    run.commit(true, first);
    run.release(first, { state: 'failed' });
    run.commit(true, run.allocation(job, { index: 0 }));
    expect(run.broken(quick)).toEqual(['I22']);
  });
});

describe('I9 quotas', () => {
  it('I9 a namespace that is given more than its quota at some revision', () => {
    run.quota('default', 250);
    const [two, three] = [1, 2].map((index) => run.allocation(job, { index })) as [Allocation, Allocation];
    run.commit(true, one, two);
    expect(run.broken(quick)).toEqual([]);
    run.commit(true, three);
    run.release(three, { exit: { lost: 'never-started' } });
    expect(run.broken(quick)).toEqual(['I9']);
  });

  const asked = (index: number): Allocation =>
    run.allocation(job, { index, ports: { http: 20_000 + index } });

  it('takes what comes when a host has released another, before the record of that one goes', () => {
    run.quota('default', 250);
    const [one, two, three] = [asked(0), asked(1), asked(2)];
    const started = run.launch(one, job);
    run.launch(two, job);
    run.end(one, started);
    run.commit(true, three);
    run.release(one);
    expect(run.broken(quick)).toEqual([]);
  });

  it('I9 a namespace that is given the room of a task that still holds its port', () => {
    run.quota('default', 250);
    const [one, two, three] = [asked(0), asked(1), asked(2)];
    const { attempt, process } = run.launch(one, job);
    run.launch(two, job);
    run.history.add('hosts', { kind: 'ended', host: one.host, attempt, process, exit: { code: 0 } });
    run.commit(true, three);
    run.history.add('hosts', { kind: 'freed', host: one.host, what: 'port', name: '20000', attempt });
    expect(run.broken(quick)).toEqual(['I9']);
  });

  /** The quota takes two: one of them waits on its host, the other runs. */
  const oneWaits = (): readonly [Allocation, Allocation] => {
    run.quota('default', 250);
    const [one, two, three] = [asked(0), asked(1), asked(2)];
    run.grant(one, job);
    run.commit(true, one);
    run.order(one, job);
    run.launch(two, job);
    return [one, three];
  };

  it('accepts a new allocation after a host was ordered to stop another one that had not begun, and not before', () => {
    const [one, three] = oneWaits();
    run.orderStop(run.mark(one, 'stop'));
    run.commit(true, three);
    expect(run.broken(quick)).toEqual([]);
    run.commit(true, asked(3));
    expect(run.broken(quick)).toEqual(['I9']);
  });

  it.each([
    ['of which it knows nothing', { status: 404, code: 'no-allocation' }],
    ['that its disk does not take, and is carried out', { status: 507, code: 'disk-full' }],
  ])('accepts a new allocation after a stop %s', (_, answer) => {
    const [one, three] = oneWaits();
    run.orderStop(one, {}, answer);
    run.commit(true, three);
    expect(run.broken(quick)).toEqual([]);
  });

  it('takes what comes after a stop, though the start comes a second time', () => {
    const [one, three] = oneWaits();
    run.orderStop(run.mark(one, 'stop'));
    run.order(one, job);
    run.commit(true, three);
    expect(run.broken(quick)).toEqual([]);
  });

  it('takes what comes after a stop, though the start that was not answered comes a second time', () => {
    run.quota('default', 250);
    const [one, two, three] = [asked(0), asked(1), asked(2)];
    run.grant(one, job);
    run.commit(true, one);
    run.order(one, job, { isUnanswered: true });
    run.launch(two, job);
    run.orderStop(run.mark(one, 'stop'));
    run.order(one, job);
    run.commit(true, three);
    expect(run.broken(quick)).toEqual([]);
  });

  it('takes what comes after a stop that was carried out, though the agent died before it answered', () => {
    const [one, three] = oneWaits();
    run.orderStop(run.mark(one, 'stop'), {}, null);
    run.commit(true, three);
    expect(run.broken(quick)).toEqual([]);
    run.orderStop(one, {}, { report: run.reportOf(one, { state: 'killed', released: true }) });
    expect(run.broken(quick)).toEqual([]);
  });

  it.each<[string, (one: Allocation) => void]>([
    ['is removed', (one) => run.orderRemoval(one)],
    ['is answered as stopped when it is ordered again', (one) => run.order(one, job, { refuse: 'stopped' })],
  ])('accepts a new allocation after a stop that was carried out without an answer: it %s', (_, later) => {
    const [one, three] = oneWaits();
    run.orderStop(run.mark(one, 'stop'), {}, null);
    run.commit(true, three);
    later(one);
    expect(run.broken(quick).filter((invariant) => invariant === 'I9')).toEqual([]);
  });

  const waits = { state: 'accepted', released: false } as const;
  const stops = { state: 'stopping', released: false } as const;
  it.each<[string, (one: Allocation) => void]>([
    ['is stopped later', (one) => run.orderStop(one, {}, { report: run.reportOf(one, stops) })],
    ['is forgotten later', (one) => run.orderStop(one, {}, { status: 404, code: 'no-allocation' })],
    ['waits on', (one) => run.order(one, job, { report: run.reportOf(one, waits) })],
    ['begins', (one) => run.begin(one)],
  ])('I9 a namespace that is given the room of what a host did not hear to stop: it %s', (_, later) => {
    const [one, three] = oneWaits();
    run.orderStop(run.mark(one, 'stop'), {}, null);
    run.commit(true, three);
    later(one);
    expect(run.broken(quick)).toContain('I9');
  });

  it('I9 a namespace that is given the room of what a host would not stop', () => {
    const [one, three] = oneWaits();
    run.orderStop(one, {}, { status: 409, code: 'epoch-old' });
    run.commit(true, three);
    expect(run.broken(quick)).toEqual(['I9']);
  });

  it('I9 a namespace that is given the room of what a host would not remove', () => {
    const [one, three] = oneWaits();
    run.orderRemoval(one, { status: 409, code: 'not-released' });
    run.commit(true, three);
    expect(run.broken(quick)).toEqual(['I9']);
  });

  it.each([
    ['ticket-expired', ['I9']],
    ['stopped', []],
    ['no-fit', []],
  ])('takes what comes after a start that was refused only when that is for ever: %s', (refuse, broken) => {
    run.quota('default', 250);
    const [one, two, three] = [asked(0), asked(1), asked(2)];
    run.grant(one, job);
    run.commit(true, one);
    run.order(one, job, { refuse });
    run.launch(two, job);
    run.commit(true, three);
    expect(run.broken(quick).filter((invariant) => invariant === 'I9')).toEqual(broken);
  });

  it.each([
    ['before its host stops it', false, ['I9']],
    ['that is for good', true, []],
  ])(
    'I9 the room of a task that has failed, is not started again, and is given away %s',
    (_, isOver, broken) => {
      run.quota('default', 250);
      const [one, two, three] = [asked(0), asked(1), asked(2)];
      const started = run.launch(one, job);
      run.launch(two, job);
      run.end(one, started, { code: 1 });
      run.commit(true, three);
      run.orderStop(run.mark(one, 'stop'), {}, { report: run.reportOf(one, { released: isOver }) });
      expect(run.broken(quick)).toEqual(broken);
    },
  );

  it('takes what comes when a task was stopped between two of its starts', () => {
    run.quota('default', 250);
    const [one, two, three] = [asked(0), asked(1), asked(2)];
    const started = run.launch(one, job);
    run.launch(two, job);
    run.end(one, started, { code: 1 });
    run.orderStop(run.mark(one, 'stop'), {}, { report: run.reportOf(one, { state: 'stopping' }) });
    run.commit(true, three);
    expect(run.broken(quick)).toEqual([]);
  });

  it('I9 a namespace that is given the room of a task between two of its starts', () => {
    run.quota('default', 250);
    const restarting = run.job('again', { restart: { attempts: 2 } });
    run.submit(restarting);
    const [one, two, three] = [run.allocation(restarting), asked(0), asked(1)];
    const started = run.launch(one, restarting);
    run.launch(two, job);
    run.end(one, started, { code: 1 });
    run.commit(true, three);
    run.begin(one, 2);
    expect(run.broken(quick)).toEqual(['I9']);
  });

  it('lets an operator lower a quota below what is in use', () => {
    run.commit(true, one);
    run.quota('default', 50);
    expect(run.broken(quick)).toEqual([]);
  });
});

describe('I18 hosts that are declared lost', () => {
  it('accepts a host that is declared lost after a long silence', () => {
    run.drop(null, KEYS.aliveOf('host-1'));
    run.nowMs += 30_000;
    run.verdict('host-1', 'lost', 1);
    expect(run.broken(quick)).toEqual([]);
  });

  it('I18 a host declared lost during its session, and one soon after its end', () => {
    run.verdict('host-1', 'lost', 1);
    run.drop(null, KEYS.aliveOf('host-2'));
    run.nowMs += 1_000;
    run.verdict('host-2', 'lost', 1);
    expect(run.check(quick).violationsTotal).toBe(2);
    expect(run.broken(quick)).toEqual(['I18']);
  });

  it('I18 a host of a crowd declared lost as early as one alone', () => {
    for (const host of ['host-1', 'host-2']) run.drop(null, KEYS.aliveOf(host));
    run.nowMs += 20_000;
    run.verdict('host-1', 'lost', 1);
    expect(run.broken(quick)).toEqual(['I18']);
  });

  it('I18 accepts a crowd that is declared lost late and one by one, and none of it all at once', () => {
    const crowd = ['host-1', 'host-2', 'host-3'];
    run = new HandRun([...crowd, 'host-4']);
    for (const host of crowd) run.drop(null, KEYS.aliveOf(host));
    run.nowMs += 90_000;
    for (const host of crowd) {
      run.verdict(host, 'lost', 1);
      run.nowMs += 10_000;
    }
    expect(run.broken(quick)).toEqual([]);
  });

  it('I18 a crowd declared lost all at once', () => {
    const crowd = ['host-1', 'host-2', 'host-3'];
    run = new HandRun([...crowd, 'host-4']);
    for (const host of crowd) run.drop(null, KEYS.aliveOf(host));
    run.nowMs += 90_000;
    for (const host of crowd) run.verdict(host, 'lost', 1);
    expect(run.broken(quick)).toEqual(['I18']);
  });
});

describe('I11 retries', () => {
  const LEDGER = KEYS.ledger('host-1');
  const [POOL, POWER] = [KEYS.pool('power/cell'), KEYS.sharedResource('power')];
  const INTENT = KEYS.intent('default', 'crunch', 'i');

  /** None of what is compared is there, and `moved` was expected to be. */
  const refuse = (times: number, moved: readonly string[]): void => {
    const compares = [LEDGER, POOL, POWER, INTENT].map((key) => {
      return { key, target: 'modRevision' as const, equals: moved.includes(key) ? 99 : 0 };
    });
    const key = KEYS.allocation('default', 'crunch', one.id);
    const attempt = { compares, writes: [{ kind: 'put' as const, key, value: '{}' }], readBack: [] };
    for (let n = 0; n < times; n++) {
      const from = run.history.asking();
      const revision = run.history.revisions.at(-1)?.fact.revision ?? 0;
      run.history.attempted('batch-1', from, attempt, { outcome: 'refused', revision, found: new Map() });
    }
  };

  it('I11 a claim that is tried without end', () => {
    refuse(9, [LEDGER]);
    expect(run.broken(quick)).toEqual([]);
    refuse(1, [LEDGER]);
    expect(run.broken(quick)).toEqual(['I11']);
  });

  it('I11 what moved is neither ledger nor pool, without end', () => {
    refuse(10, [INTENT]);
    expect(run.broken(quick)).toEqual(['I11']);
  });

  it('I11 races for a pool without end', () => {
    refuse(5, [LEDGER]);
    refuse(40, [POOL]);
    refuse(4, [LEDGER]);
    refuse(24, [POWER]);
    expect(run.broken(quick)).toEqual([]);
    refuse(1, [POOL]);
    expect(run.broken(quick)).toEqual(['I11']);
  });

  it('I11 a claim that is tried without end for its host, and loses a race for a pool each time', () => {
    refuse(64, [POOL]);
    refuse(9, [LEDGER, POOL]);
    expect(run.broken(quick)).toEqual([]);
    refuse(1, [LEDGER, POOL]);
    expect(run.broken(quick)).toEqual(['I11']);
  });
});
