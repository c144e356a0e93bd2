import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../../src/core/cell/allocation.ts';
import type { Job } from '../../../../../src/core/cell/job.ts';
import type { Started } from '../../../../support/hand-run.ts';
import { HandRun } from '../../../../support/hand-run.ts';
import { CELL_INCARNATION } from '../../../../support/history-world.ts';

let run: HandRun;
let job: Job;
let one: Allocation;

beforeEach(() => {
  run = new HandRun();
  job = run.job('crunch', { count: 4 });
  run.submit(job);
  one = run.allocation(job);
});

const quick = { liveness: null, least: {} };
const epoch = (counter: number) => ({ incarnation: CELL_INCARNATION, counter });

describe('I17 epochs', () => {
  it('I17 an order that is obeyed after one of a later epoch', () => {
    run.launch({ ...one, epoch: epoch(3) }, job);
    run.orderStop(one, { epoch: epoch(3) });
    expect(run.broken(quick)).toEqual([]);
    run.orderStop(one, { commandId: 'late', epoch: epoch(2) });
    expect(run.broken(quick)).toEqual(['I17']);
  });

  it('takes the saved answer of a start that was obeyed before', () => {
    run.launch(one, job);
    run.launch(run.allocation(job, { index: 1, epoch: epoch(4) }), job);
    run.order(one, job);
    expect(run.broken(quick)).toEqual([]);
  });
});

describe('I34 the same order again', () => {
  it('I34 a start that was obeyed and is refused when it is sent again', () => {
    run.launch(one, job);
    run.order(one, job, { refuse: 'no-fit' });
    expect(run.broken(quick)).toEqual(['I34']);
  });

  it.each([
    ['no-fit', ['I34']],
    ['stopped', ['I34']],
    ['ticket-expired', []],
    ['bad-request', []],
  ])('I34 a start that was refused and is obeyed when it is sent again: %s', (refuse, broken) => {
    run.grant(one, job, refuse === 'ticket-expired' ? { expiresMs: run.nowMs - 60_000 } : {});
    run.commit(true, one);
    run.order(one, job, { refuse, isUnanswered: true });
    run.order(one, job, { refuse });
    run.grant(one, job, { jti: 'another' });
    run.order(one, job);
    expect(run.broken(quick)).toEqual(broken);
  });

  it('takes a start that is refused for good again and again', () => {
    run.grant(one, job);
    run.commit(true, one);
    for (let i = 0; i < 3; i++) run.order(one, job, { refuse: 'no-fit' });
    run.order(one, job, { refuse: 'stopped' });
    expect(run.broken(quick)).toEqual([]);
  });

  it('I46 the id of a command that is used for another', () => {
    run.launch(one, job);
    run.orderStop(one, { commandId: `${one.id}-start-0` });
    expect(run.broken(quick)).toEqual(['I46']);
  });
});

describe('I36 to I39, I43, I44 tickets', () => {
  const start = (changes: Parameters<HandRun['order']>[2]): string[] => {
    run.commit(true, one);
    run.order(one, job, changes);
    return run.broken(quick);
  };

  it('I36 a ticket after its end, and before its begin', () => {
    const late = run.grant(one, job);
    expect(start({ hostNowMs: late.expiresMs + 1_900 })).toEqual([]);
    const two = run.allocation(job, { index: 1 });
    run.grant(two, job);
    run.commit(true, two);
    run.order(two, job, { hostNowMs: late.expiresMs + 2_100 });
    expect(run.broken(quick)).toEqual(['I36']);
  });

  it('I36 a ticket that a clock set back made live again', () => {
    const { expiresMs } = run.grant(one, job);
    const two = run.allocation(job, { index: 1 });
    run.grant(two, job, { expiresMs: expiresMs + 60_000 });
    run.commit(true, two);
    run.order(two, job, { hostNowMs: expiresMs + 50_000 });
    expect(start({ hostNowMs: expiresMs - 1_000 })).toEqual(['I36']);
  });

  it('I36 a ticket before its begin', () => {
    run.grant(one, job, { notBeforeMs: run.nowMs + 5_000 });
    expect(start({})).toEqual(['I36']);
  });

  it('I37 a ticket for another host, and for an earlier start of this one', () => {
    run.grant(one, job, { hostIncarnation: 7 });
    expect(start({})).toEqual(['I37']);
  });

  it('I38 a ticket that is used for two allocations', () => {
    const ticket = run.grant(one, job);
    run.commit(true, one);
    run.order(one, job);
    const two = run.allocation(job, { index: 1 });
    run.commit(true, two);
    run.order(two, job, { ticket: { ...ticket, claim: { ...ticket.claim, id: two.id } } });
    expect(run.broken(quick)).toEqual(['I38']);
  });

  it.each([
    ['resources', { claim: 'cpu' }],
    ['scheduler', { scheduler: 'batch-9' }],
    ['epoch', { epoch: epoch(9) }],
    ['command', { commandDigest: 'another' }],
  ])('I39 a start that differs from its ticket in its %s', (_, changes) => {
    const body = run.grant(one, job);
    const claim = { ...body.claim, resources: { ...body.claim.resources, cpuMilli: 1 } };
    const ticket = { ...body, ...changes, claim: 'claim' in changes ? claim : body.claim };
    expect(start({ ticket })).toEqual(['I39']);
  });

  it('I43 a good ticket that is refused', () => {
    const ticket = run.grant(one, job);
    run.nowMs += 5_000;
    expect(start({ ticket, refuse: 'ticket-invalid' })).toEqual(['I43']);
  });

  it('I44 a start without a ticket, and a shim without a start', () => {
    expect(start({ ticket: null })).toEqual(['I44']);
    const two = run.allocation(job, { index: 1 });
    run.grant(two, job);
    run.commit(true, two);
    run.begin(two);
    expect(run.check(quick).violationsTotal).toBe(2);
  });

  it('asks for none where none are given', () => {
    expect(start({ ticket: null })).toEqual(['I44']);
    expect(run.broken({ ...quick, enforcement: false })).toEqual([]);
  });

  it('I46 two tickets of one id', () => {
    run.grant(one, job);
    run.grant(one, job);
    expect(run.broken(quick)).toEqual(['I46']);
  });
});

describe('I40 I41 grants', () => {
  beforeEach(() => {
    run.quota('default', 250);
    run.nowMs += 6_000;
  });

  const grants = (count: number): Allocation[] =>
    Array.from({ length: count }, (_, index) => {
      const allocation = run.allocation(job, { index });
      run.grant(allocation, job);
      return allocation;
    });

  it('I40 grants beyond the quota, none of them used', () => {
    grants(2);
    expect(run.broken(quick)).toEqual([]);
    grants(1);
    expect(run.broken(quick)).toEqual(['I40']);
  });

  it('I40 no grants of an arbiter that cannot have heard of the first quota yet', () => {
    run.nowMs -= 5_000;
    grants(3);
    expect(run.broken(quick)).toEqual([]);
  });

  it('I41 an unused grant that is given back before nobody can use it any more', () => {
    grants(2);
    run.nowMs += 31_000;
    grants(1);
    expect(run.broken(quick)).toEqual(['I40']);
  });

  it('takes grants after the end of others, and after the end of what they started', () => {
    const [a] = grants(2) as [Allocation];
    run.commit(true, a);
    run.order(a, job);
    const started = run.begin(a);
    run.nowMs += 33_000;
    run.end(a, started);
    run.release(a);
    grants(2);
    expect(run.broken(quick)).toEqual([]);
  });

  it('I40 grants beside what has ended, and still holds its port', () => {
    const [a, b] = [0, 1].map((index) => run.allocation(job, { index, ports: { http: 20_000 + index } }));
    const started = [a, b].map((allocation) => run.launch(allocation as Allocation, job));
    run.nowMs += 60_000;
    const { attempt, process } = started[0] as Started;
    run.history.add('hosts', { kind: 'ended', host: 'host-1', attempt, process, exit: { code: 0 } });
    grants(1);
    expect(run.broken(quick)).toEqual(['I40']);
  });

  it('I40 grants beside what runs, long after its ticket', () => {
    const [a, b] = grants(2) as [Allocation, Allocation];
    for (const allocation of [a, b]) {
      run.commit(true, allocation);
      run.order(allocation, job);
      run.begin(allocation);
    }
    run.nowMs += 60_000;
    grants(1);
    expect(run.broken(quick)).toEqual(['I40']);
  });
});
