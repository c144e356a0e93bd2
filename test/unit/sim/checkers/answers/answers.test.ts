import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../../src/core/cell/allocation.ts';
import type { Job } from '../../../../../src/core/cell/job.ts';
import { jobCodec } from '../../../../../src/wire/records/records.ts';
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

const quick = { liveness: null, least: {} };

const detailsOf = (wanted: string): readonly string[] =>
  run.check(quick).violations.flatMap(({ invariant, detail }) => (invariant === wanted ? [detail] : []));

/** An event that a follower read. */
function receives(id: string, kind: string): void {
  const event = { id, atMs: 1, kind, source: 'x', detail: '' };
  run.history.add('events', { client: 'client-1', stream: 1, event });
}

describe('I19 I20 I46 what clients were told', () => {
  const once = (key: string, answered: string, stored = answered): void => {
    const answer = run.history.called({ kind: 'run', client: 'client-1', key, job: run.job('hello') });
    const value = jobCodec.encode({ job: run.job(stored), version: 1, desired: 'run', submittedAtMs: 1 });
    run.put('monitor-1', KEYS.job('default', stored), value, 'same');
    answer({ result: 'ok', job: answered, version: null });
  };

  it('I19 a job that was acknowledged and is not there', () => {
    once('k1', 'hello-1', 'hello-2');
    expect(run.broken(quick)).toEqual(['I19']);
  });

  it('I19 a stop that was acknowledged and is not there', () => {
    const answer = run.history.called({ kind: 'stop', client: 'c', namespace: 'default', job: 'crunch' });
    answer({ result: 'ok', job: 'crunch', version: null });
    expect(run.broken(quick)).toEqual(['I19']);
    run.jobRecord(job, 1, 'stop');
    const again = run.history.called({ kind: 'stop', client: 'c', namespace: 'default', job: 'crunch' });
    again({ result: 'ok', job: 'crunch', version: null });
    expect(run.check(quick).violationsTotal).toBe(1);
  });

  it('I20 a key that made two jobs', () => {
    once('k1', 'hello-1');
    once('k1', 'hello-1');
    expect(run.broken(quick)).toEqual([]);
    once('k1', 'hello-2');
    expect(run.broken(quick)).toEqual(['I20']);
  });

  it('I46 a name that two keys were given', () => {
    once('k1', 'hello-1');
    once('k2', 'hello-1');
    expect(run.broken(quick)).toEqual(['I46']);
  });
});

describe('I48 I50 I51 views', () => {
  beforeEach(() => run.launch(one, job));

  it('I50 a view that goes back', () => {
    run.view('monitor-1', { seq: 5 });
    run.view('monitor-1', { seq: 4 });
    expect(run.broken(quick)).toEqual(['I50']);
  });

  it('I51 a view that forgets what it knew of a host that says nothing new', () => {
    run.view('monitor-1');
    run.history.add('views', {
      ...{ monitor: 'monitor-1', instance: 1, complete: true },
      hosts: [{ host: 'host-1', incarnation: 1, seq: 1, asOfMs: 1, staleSinceMs: 1, reports: [] }],
    });
    expect(run.broken(quick)).toEqual(['I51']);
  });

  it('I51 a dead host that is shown as current', () => {
    run.history.add('actors', { actor: 'host-1', role: 'agent', instance: 1, change: 'killed' });
    run.nowMs += 2_000;
    run.view('monitor-1');
    expect(run.broken(quick)).toEqual([]);
    run.nowMs += 10_000;
    run.view('monitor-1');
    expect(run.broken(quick)).toEqual(['I51']);
  });

  it('I48 a view that differs from the host, that lacks it, or that is not complete', () => {
    run.quiet();
    run.listing('host-1', []);
    run.view('monitor-1');
    run.view('monitor-2', { leaveOut: 'host-1', complete: false });
    run.history.phase('end');
    const details = run.check(quick).violations.filter(({ invariant }) => invariant === 'I48');
    expect(details.map(({ detail }) => detail)).toEqual([
      'it shows another state than the host itself',
      'its view is not complete after the quiet period',
      'the host is absent',
    ]);
  });
});

describe('I52 ends in the history', () => {
  it('I52 an event that a client receives twice', () => {
    const event = { id: '7.0', atMs: 1, kind: 'placed', source: 'x', detail: '' };
    const gap = { ...event, id: '6.0', kind: 'gap' };
    run.history.add('events', { client: 'client-1', stream: 1, event });
    run.history.add('events', { client: 'client-1', stream: 2, event: gap });
    run.history.add('events', { client: 'client-1', stream: 2, event });
    run.history.add('events', { client: 'client-2', stream: 1, event });
    expect(run.broken(quick)).toEqual([]);
    run.history.add('events', { client: 'client-2', stream: 2, event });
    expect(run.broken(quick)).toEqual(['I52']);
  });

  it('I52 an end that a follower does not receive, and one that it receives after a later event', () => {
    run.end(one, run.launch(one, job));
    receives('1.0', 'placed');
    receives('2.0', 'placed');
    run.release(one);
    receives('900.0', 'placed');
    expect(detailsOf('I52')).toEqual(['client-1 received neither its end nor a gap']);
    receives('3.0', 'placed');
    expect(detailsOf('I52')).toContain('client-1 received it after a later one');
  });

  it('I52 accepts a gap in place of an end', () => {
    run.end(one, run.launch(one, job));
    receives('1.0', 'placed');
    run.release(one);
    receives('800.0', 'gap');
    receives('900.0', 'placed');
    expect(run.broken(quick)).toEqual([]);
  });

  it('I52 an end after which a follower receives nothing more, though no fault lasts', () => {
    receives('1.0', 'placed');
    receives('2.0', 'placed');
    run.end(one, run.launch(one, job));
    run.release(one);
    run.quiet(20_000);
    run.history.phase('end');
    // Too soon to be sure.
    expect(run.broken(quick)).toEqual([]);
    run.nowMs += 10_000;
    run.history.phases.pop();
    run.history.phase('end');
    expect(detailsOf('I52')).toEqual(['client-1 received neither its end nor a gap']);
    receives('900.0', 'gap');
    expect(run.broken(quick)).toEqual([]);
  });

  it('I52 an end after the last gap, or after the place at which a follower began', () => {
    const gap = { id: '1.0', atMs: 1, kind: 'gap', source: 'x', detail: '' };
    run.history.add('events', { client: 'client-1', stream: 1, event: gap });
    run.history.add('events', { client: 'client-2', stream: 1, began: '2' });
    run.end(one, run.launch(one, job));
    run.release(one);
    const { revision = 0 } = run.history.revisions.at(-1)?.fact ?? {};
    run.history.add('events', { client: 'client-3', stream: 1, began: String(revision) });
    expect(run.broken(quick)).toEqual([]);
    run.quiet();
    run.history.phase('end');
    expect(detailsOf('I52')).toEqual(
      ['client-1', 'client-2'].map((client) => `${client} received neither its end nor a gap`),
    );
  });

  it('I52 a run in which no events were read', () => {
    const least = { events: 1 };
    expect(run.check({ ...quick, least })).toMatchObject({ result: 'too-little' });
    run.history.add('events', { client: 'client-1', stream: 1, began: '2' });
    expect(run.check({ ...quick, least })).toMatchObject({ result: 'too-little' });
    const event = { id: '7.0', atMs: 1, kind: 'placed', source: 'x', detail: '' };
    run.history.add('events', { client: 'client-1', stream: 1, event });
    expect(run.check({ ...quick, least })).toMatchObject({ result: 'holds' });
  });

  it('I23 an end that a client was told and the store does not have', () => {
    run.launch(one, job);
    const exit = { state: 'complete', exit: { code: 0 }, reason: '', host: 'host-1', allocation: one.id };
    run.history.add('exits', { client: 'client-1', namespace: 'default', job: 'job', exit });
    // Its outcome may still come.
    expect(run.broken(quick)).toEqual([]);
    run.quiet();
    run.history.phase('end');
    expect(run.broken(quick)).toContain('I23');
  });

  it('I23 an end that a client was told otherwise than the store holds it', () => {
    run.end(one, run.launch(one, job));
    run.release(one);
    const exit = { state: 'failed', exit: { code: 3 }, reason: '', host: 'host-1', allocation: one.id };
    run.history.add('exits', { client: 'client-1', namespace: 'default', job: 'job', exit });
    expect(run.broken(quick)).toEqual(['I23']);
  });

  it('I52 a task that ran and left no outcome', () => {
    run.end(one, run.launch(one, job));
    run.release(one, null);
    expect(run.broken(quick)).toEqual(['I52']);
  });
});
