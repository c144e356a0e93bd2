import { describe, expect, it } from 'vitest';
import type { Allocation, Outcome } from '../../../../src/core/cell/allocation.ts';
import type { Group, Job, UpdatePolicy } from '../../../../src/core/cell/job.ts';
import type { RolloutRecord } from '../../../../src/core/cell/rollout.ts';
import { NO_RESOURCES } from '../../../../src/core/cell/resources.ts';
import type { AllocationReport } from '../../../../src/core/host/report.ts';
import type { Evaluation, JobView, LiveAllocation } from '../../../../src/core/slots/job-view.ts';
import { evaluate } from '../../../../src/core/slots/slots.ts';
import { parseJobObject } from '../../../../src/wire/job-file/job-file.ts';

const MINUTE_MS = 60_000;

function job(command: string, update: UpdatePolicy = {}, count = 3): Job {
  const reading = parseJobObject({ name: 'web', count, command: [command], update: { minHealthy: '5s' } });
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  const group = reading.job.groups['web'] as Group;
  return { ...reading.job, groups: { web: { ...group, update } } };
}

/** A service of one group in the midst of an update, whose hosts do at once what they are told. */
class Service {
  nowMs = 0;
  version = 1;
  job: Job;
  live: { allocation: Allocation; report: AllocationReport; sinceMs: number }[] = [];
  outcomes: Outcome[] = [];
  rollout: RolloutRecord | null = null;
  wish: JobView['record']['rollout'];
  pause: JobView['rolloutPause'];
  readonly versions = new Map<number, Job>();
  /** What does not get ready. */
  bad: (allocation: Allocation) => boolean = () => false;
  /** Is there room for the slot now? */
  fits: (index: number) => boolean = () => true;
  /** Hosts of which nothing is heard; what is stopped there ends when they are back. */
  readonly away = new Map<string, { readonly state?: 'lost'; readonly isSilent?: true }>();
  /** Fewest that were ready at one time since the last submission. */
  fewest = Infinity;
  #made = 0;

  constructor(first: Job) {
    this.job = first;
    this.versions.set(1, first);
  }

  submit(next: Job): void {
    this.version += 1;
    this.job = next;
    this.wish = undefined;
    this.submittedAtMs = this.nowMs;
    this.versions.set(this.version, next);
    this.fewest = Infinity;
  }
  submittedAtMs = 0;

  view(): JobView {
    const { job: spec, version, submittedAtMs, wish } = this;
    return {
      record: {
        ...{ job: spec, version, desired: 'run', submittedAtMs },
        ...(wish === undefined ? {} : { rollout: wish }),
      },
      live: this.live,
      ...{ outcomes: this.outcomes, versions: this.versions, rollout: this.rollout, nowMs: this.nowMs },
      hostCondition: (host) => ({ state: 'ready', drainDeadlineMs: null, ...this.away.get(host) }),
      ...(this.pause === undefined ? {} : { rolloutPause: this.pause }),
      hostOf: () => undefined,
      upForMs: (one: LiveAllocation) =>
        this.nowMs - (this.live.find(({ allocation }) => allocation.id === one.allocation.id)?.sinceMs ?? 0),
      matching: () => [],
    };
  }

  /** One evaluation, carried out. */
  step(): Evaluation {
    const evaluation = evaluate(this.view());
    for (const { allocation } of evaluation.stops)
      if (!this.away.has(allocation.host)) this.end(allocation, 'killed', 'stopped');
    for (const fill of evaluation.fills) if (this.fits(fill.index)) this.#place(fill.index, fill.attempt);
    if (
      evaluation.rollout !== null &&
      this.rollout?.state !== evaluation.rollout.state + String(this.version)
    ) {
      const good = evaluation.rollout.state === 'done' ? this.version : this.rollout?.good;
      this.rollout = {
        ...{ version: this.version, ...evaluation.rollout, sinceMs: this.nowMs },
        ...(good === undefined ? {} : { good }),
      };
    }
    const ready = this.live.filter(({ report }) => report.tasks['web']?.ready !== false).length;
    this.fewest = Math.min(this.fewest, ready);
    return evaluation;
  }

  run(ms: number, stepMs = 1_000): Evaluation {
    let last = this.step();
    for (const endMs = this.nowMs + ms; this.nowMs < endMs;) {
      this.nowMs += stepMs;
      last = this.step();
    }
    return last;
  }

  end(allocation: Allocation, state: string, cause?: string): void {
    this.live = this.live.filter((one) => one.allocation.id !== allocation.id);
    const { namespace, job: name, jobVersion, group, index, attempt, host, scheduler } = allocation;
    this.outcomes.push({
      ...{
        allocation: allocation.id,
        namespace,
        job: name,
        jobVersion,
        group,
        index,
        attempt,
        host,
        scheduler,
      },
      ...{ state, reason: 'exit 1', endedAtMs: this.nowMs, restarts: 0 },
      ...(cause === undefined ? {} : { cause }),
    });
  }

  #place(index: number, attempt: number): void {
    this.#made += 1;
    const slot = { namespace: 'default', job: 'web', jobVersion: this.version, group: 'web', index, attempt };
    const claim = {
      id: `a${String(this.#made)}`,
      host: `h${String(index)}`,
      precedence: 50,
      resources: NO_RESOURCES,
      gpus: [],
      ports: {},
    };
    const allocation: Allocation = {
      ...{ ...slot, ...claim, scheduler: 's', desired: 'run', planId: 'p', createdAtMs: this.nowMs },
      epoch: { incarnation: 'i', counter: 0 },
    };
    const ready = !this.bad(allocation);
    const tasks = { web: { state: 'running' as const, restarts: 0, ready, checks: {} } };
    this.live.push({
      allocation,
      report: {
        ...slot,
        ...claim,
        scheduler: 's',
        state: 'running',
        released: false,
        reason: '',
        restarts: 0,
        tasks,
      },
      sinceMs: this.nowMs,
    });
  }

  versionsOf(): readonly number[] {
    const inOrder = [...this.live].sort((a, b) => a.allocation.index - b.allocation.index);
    return inOrder.map(({ allocation }) => allocation.jobVersion);
  }
}

function started(first: Job): Service {
  const service = new Service(first);
  service.run(10_000);
  expect(service.versionsOf()).toEqual([1, 1, 1]);
  return service;
}

describe('an update of a service', () => {
  it('S3.24 K1 by default one after the other, each when the one before was up for its time, never two away', () => {
    const service = started(job('one'));
    service.submit(job('two'));
    service.run(4_000);
    expect(service.versionsOf()).toEqual([2, 1, 1]);
    const last = service.run(20_000);
    expect(service.versionsOf()).toEqual([2, 2, 2]);
    expect(last.rollouts).toEqual([]);
    expect(service.rollout).toMatchObject({ version: 2, state: 'done', good: 2 });
    expect(service.fewest).toBeGreaterThanOrEqual(2);
  });

  it('K1 parallelism is how many are replaced at once, and one that is not up counts for one', () => {
    const service = started(job('one'));
    service.submit(job('two', { parallelism: 2 }));
    service.run(0);
    expect(service.live).toHaveLength(1);
    service.run(1_000);
    expect(service.versionsOf()).toEqual([2, 2, 1]);
    service.run(20_000);
    expect(service.versionsOf()).toEqual([2, 2, 2]);
  });

  it('S3.59 while an operator pauses updates nothing is replaced, of some hosts nothing there, and it has not failed afterwards', () => {
    const service = started(job('one'));
    const reason = 'paused by ada: a look';
    service.submit(job('two', { strategy: 'start-first' }));
    service.pause = { on: () => reason, endedAtMs: 0 };
    const last = service.run(20 * MINUTE_MS, 10_000);
    expect(service.versionsOf()).toEqual([1, 1, 1]);
    expect(last.rollouts).toMatchObject([{ outdated: 3, waitsFor: reason, failed: false }]);
    service.pause = { on: (host) => (host === 'h1' ? reason : null), endedAtMs: service.nowMs };
    service.run(20 * MINUTE_MS, 10_000);
    // The one beyond the count stays until all are replaced.
    expect(service.versionsOf()).toEqual([2, 1, 2, 2]);
    expect(service.rollout?.state).toBe('updating');
    service.pause = { on: () => null, endedAtMs: service.nowMs };
    service.run(MINUTE_MS);
    expect(service.versionsOf()).toEqual([2, 2, 2]);
    expect(service.rollout?.state).toBe('done');
  });

  it('K3 start-first never has fewer than count, and ends with count', () => {
    const service = started(job('one'));
    service.submit(job('two', { strategy: 'start-first' }));
    service.run(2_000);
    expect(service.versionsOf()).toEqual([1, 1, 1, 2]);
    service.run(60_000);
    expect(service.versionsOf()).toEqual([2, 2, 2]);
    expect(service.fewest).toBeGreaterThanOrEqual(3);
    expect(service.rollout?.state).toBe('done');
  });

  it('K3 what start-first has beyond count goes one by one, when the last slots need its room', () => {
    const service = started(job('one'));
    service.fits = (index) => index !== 1 || service.live.every(({ allocation }) => allocation.index !== 4);
    service.submit(job('two', { strategy: 'start-first', parallelism: 2 }));
    service.run(60_000);
    expect(service.versionsOf()).toEqual([2, 2, 2]);
    expect(service.fewest).toBeGreaterThanOrEqual(3);
    expect(service.rollout?.state).toBe('done');
  });

  it('S3.24 stops when a new one is not up by its deadline, says so, and is undone by the last good version', () => {
    const service = started(job('one'));
    service.submit(job('two', { healthyDeadlineMs: MINUTE_MS, autoRevert: true }));
    service.bad = ({ jobVersion }) => jobVersion === 2;
    service.rollout = { version: 1, state: 'done', sinceMs: 0, reason: '', good: 1 };
    const last = service.run(2 * MINUTE_MS);
    expect(service.versionsOf()).toEqual([2, 1, 1]);
    expect(last.rollouts[0]).toMatchObject({ failed: true, outdated: 2 });
    expect(last.rollouts[0]?.waitsFor).toMatch(/^not up within 60 s: web\[0\]/);
    expect(service.rollout).toMatchObject({ version: 2, state: 'failed', good: 1 });
    service.submit(job('one'));
    service.run(20_000);
    expect(service.versionsOf()).toEqual([3, 1, 1]);
    expect(service.rollout).toMatchObject({ version: 3, state: 'done', good: 3 });
  });

  it('S3.24 a new one that failed for good stops it at once, also where more may be replaced', () => {
    const service = started(job('one', {}, 3));
    service.submit(job('two', { parallelism: 2 }));
    service.run(1_000);
    const [broken] = service.live.filter(({ allocation }) => allocation.jobVersion === 2);
    if (broken !== undefined) service.end(broken.allocation, 'failed');
    const last = evaluate(service.view());
    expect(last.rollouts[0]).toMatchObject({ failed: true, waitsFor: 'web[0] failed: exit 1' });
    expect(last.stops).toEqual([]);
  });

  it('an update of which nothing comes has failed after its time, with the reason', () => {
    const service = started(job('one'));
    service.submit(job('two', { progressDeadlineMs: MINUTE_MS }));
    service.step();
    // Its place is taken: nothing is filled any more.
    service.nowMs += 2 * MINUTE_MS;
    const last = evaluate(service.view());
    expect(last.rollouts[0]?.failed).toBe(true);
    expect(last.rollout?.state).toBe('failed');
    expect(last.rollout?.reason).toMatch(/nothing came of it for 60 s/);
  });

  it('K2 canaries run beside all others and wait for their promotion; then the rest follows, and they go', () => {
    const service = started(job('one'));
    service.submit(job('two', { canary: 1 }));
    const waiting = service.run(20 * MINUTE_MS, 10_000);
    expect(service.versionsOf()).toEqual([1, 1, 1, 2]);
    expect(waiting.rollouts[0]).toMatchObject({ failed: false, outdated: 3 });
    expect(waiting.rollouts[0]?.waitsFor).toMatch(/moorage rollout promote web/);
    service.wish = { promoted: true, atMs: service.nowMs };
    service.run(60_000);
    expect(service.versionsOf()).toEqual([2, 2, 2]);
    expect(service.fewest).toBeGreaterThanOrEqual(3);
  });

  it('K2 canaries of a start-first update are no more than were asked for, until they are promoted', () => {
    const service = started(job('one'));
    service.submit(job('two', { canary: 1, strategy: 'start-first', parallelism: 2 }));
    service.run(60_000);
    expect(service.versionsOf()).toEqual([1, 1, 1, 2]);
  });

  it('K2 canaries that are not ready are not promoted by themselves; those that are, are', () => {
    const service = started(job('one'));
    service.submit(job('two', { canary: 2, autoPromote: true, parallelism: 3 }));
    service.bad = ({ index }) => index === 4;
    service.run(60_000);
    expect(service.versionsOf()).toEqual([1, 1, 1, 2, 2]);
    service.submit(job('three', { canary: 2, autoPromote: true }));
    service.bad = () => false;
    service.run(60_000);
    expect(service.versionsOf()).toEqual([3, 3, 3]);
  });

  it('paused it replaces nothing, not even what does not run; resumed it goes on from what is there', () => {
    const service = started(job('one'));
    service.submit(job('two'));
    service.run(8_000);
    const before = service.versionsOf();
    service.wish = { paused: true, atMs: service.nowMs };
    const paused = service.run(30 * MINUTE_MS, 10_000);
    expect(service.versionsOf()).toEqual(before);
    expect(paused.rollouts[0]).toMatchObject({ failed: false });
    expect(paused.rollouts[0]?.waitsFor).toMatch(/^paused/);
    service.wish = { atMs: service.nowMs };
    service.run(20_000);
    expect(service.versionsOf()).toEqual([2, 2, 2]);
  });

  it('a change in the midst of an update starts from what is there: surplus slots of the old change go', () => {
    const service = started(job('one'));
    service.submit(job('two', { strategy: 'start-first', parallelism: 2 }));
    service.run(2_000);
    expect(service.versionsOf()).toEqual([1, 1, 1, 2, 2]);
    service.submit(job('one'));
    service.run(20_000);
    expect(service.versionsOf()).toEqual([1, 1, 1]);
  });

  it('I63 S3.24 what the update before has beyond the count goes alone, and not while it may be all that serves', () => {
    const service = started(job('one'));
    service.submit(job('two', { strategy: 'start-first', parallelism: 2 }));
    service.run(2_000);
    service.submit(job('three', { strategy: 'start-first', parallelism: 2 }));
    const stopped = (): readonly number[] =>
      evaluate(service.view()).stops.map((one) => one.allocation.index);
    expect(stopped()).toEqual([3, 4]);
    // One of the others has gone for the second version already.
    service.live = service.live.filter(({ allocation }) => allocation.index !== 0);
    expect(stopped()).toEqual([]);
    service.run(60_000);
    expect(service.versionsOf()).toEqual([3, 3, 3]);
    expect(service.rollout?.state).toBe('done');
  });

  it.each([{ isSilent: true }, { state: 'lost' }] as const)(
    'I63 K1 of what is on a host that is not heard of (%o) nobody relies on, and the update goes on when it is back',
    (condition) => {
      const service = started(job('one'));
      service.away.set('h1', condition);
      service.submit(job('two'));
      const last = service.run(60_000);
      expect(service.versionsOf()).toEqual([1, 1, 1]);
      const waits = 'state' in condition ? 'web[1] is on h1, of which nothing is heard' : null;
      expect(last.rollouts[0]).toMatchObject({ waitsFor: waits, failed: false });
      service.away.clear();
      service.run(60_000);
      expect(service.versionsOf()).toEqual([2, 2, 2]);
      expect(service.fewest).toBeGreaterThanOrEqual(2);
      expect(service.rollout?.state).toBe('done');
    },
  );

  it('I63 S0.1 what is replaced because its host is lost is the one that is away', () => {
    const moved = (command: string): Job => {
      const made = job(command);
      const group = made.groups['web'] as Group;
      const web = { ...group, reschedule: { ...group.reschedule, onHostLost: true } };
      return { ...made, groups: { web } };
    };
    const service = started(moved('one'));
    service.submit(moved('two'));
    service.away.set('h1', { state: 'lost' });
    expect(service.step().stops.map(({ allocation }) => allocation.host)).toEqual(['h1']);
  });

  it('a restart of all is other work than before, one by one', () => {
    const service = started(job('one'));
    service.submit({ ...job('one'), restartedAtMs: 5 });
    service.run(2_000);
    expect(service.versionsOf()).toEqual([2, 1, 1]);
    service.run(30_000);
    expect(service.versionsOf()).toEqual([2, 2, 2]);
    expect(service.fewest).toBeGreaterThanOrEqual(2);
  });

  it('a change of count restarts nothing', () => {
    const service = started(job('one'));
    service.submit(job('one', {}, 5));
    service.run(10_000);
    expect(service.versionsOf()).toEqual([1, 1, 1, 2, 2]);
    expect(service.rollout).toMatchObject({ version: 2, state: 'done' });
  });
});
