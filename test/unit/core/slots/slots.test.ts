import { describe, expect, it } from 'vitest';
import type { Allocation, Outcome } from '../../../../src/core/cell/allocation.ts';
import type { Group, Job, ReturnPolicy, Task } from '../../../../src/core/cell/job.ts';
import { outcomeOf, surplusOutcomes } from '../../../../src/core/slots/outcomes.ts';
import type { AllocationReport } from '../../../../src/core/host/report.ts';
import { NO_RESOURCES } from '../../../../src/core/cell/resources.ts';
import type { Evaluation, JobView, LiveAllocation } from '../../../../src/core/slots/job-view.ts';
import { CAUSES } from '../../../../src/core/slots/job-view.ts';
import { evaluate } from '../../../../src/core/slots/slots.ts';
import { makeGroup, makeHost } from '../placement/placement-fixtures.ts';

function makeJob(type: Job['type'], group: Partial<Group>): Job {
  return {
    ...{
      namespace: 'default',
      name: 'foo',
      type,
      precedence: 50,
      scheduler: 'auto',
      labels: {},
      oneOff: false,
    },
    groups: { foo: makeGroup({ name: 'foo', ...group }) },
  };
}

function allocation(id: string, part: Partial<Allocation> = {}): Allocation {
  return {
    ...{ id, host: 'h1', precedence: 50, resources: NO_RESOURCES, gpus: [], ports: {}, namespace: 'default' },
    ...{ job: 'foo', jobVersion: 1, group: 'foo', index: 0, attempt: 1, scheduler: 's', desired: 'run' },
    ...{ planId: 'p', epoch: { incarnation: 'i', counter: 0 }, createdAtMs: 0 },
    ...part,
  };
}

function report(of: Allocation, part: Partial<AllocationReport> = {}): AllocationReport {
  const { id, host, precedence, resources, gpus, ports, namespace, job, jobVersion, group, index, attempt } =
    of;
  return {
    ...{ id, host, precedence, resources, gpus, ports, namespace, job, jobVersion, group, index, attempt },
    ...{ scheduler: 's', state: 'running', released: false, reason: 'running', restarts: 0, tasks: {} },
    ...part,
  };
}

function outcome(part: Partial<Outcome> = {}): Outcome {
  return {
    ...{
      allocation: 'old',
      namespace: 'default',
      job: 'foo',
      jobVersion: 1,
      group: 'foo',
      index: 0,
      attempt: 1,
    },
    ...{ host: 'h1', scheduler: 's', state: 'failed', reason: 'exit 1', endedAtMs: 1_000, restarts: 0 },
    ...part,
  };
}

function view(job: Job, part: Partial<JobView> = {}): JobView {
  return {
    record: { job, version: 1, desired: 'run', submittedAtMs: 0 },
    live: [],
    outcomes: [],
    versions: new Map([[1, job]]),
    rollout: null,
    hostCondition: () => ({ state: 'ready', drainDeadlineMs: null }),
    hostOf: () => undefined,
    upForMs: () => Infinity,
    matching: () => [],
    nowMs: 10_000,
    ...part,
  };
}

const running = (of: Allocation): LiveAllocation => ({ allocation: of, report: report(of) });
const RESTART = { attempts: 9, windowMs: 1_000, delayMs: 0, on: 'always' } as const;
const BACKOFF = { attempts: null, delayMs: 1_000, delayMaxMs: 8_000, onHostLost: false };

describe('slots', () => {
  it('a failure is answered by a longer wait each time, on another host, with the next attempt', () => {
    const job = makeJob('batch', { reschedule: BACKOFF });
    const failed = [1, 2, 3].map((attempt) => outcome({ allocation: `a${String(attempt)}`, attempt }));
    const { fills, nextAtMs } = evaluate(view(job, { outcomes: failed, nowMs: 1_000 }));
    expect(fills).toMatchObject([
      { attempt: 4, replaces: 'a3', avoidHosts: ['h1'], notBeforeMs: 1_000 + 4_000 },
    ]);
    expect(nextAtMs).toBe(5_000);
  });

  it('an end that is dated in the future puts nothing off', () => {
    const job = makeJob('batch', { reschedule: BACKOFF });
    const ahead = outcome({ endedAtMs: 10_000 + 418_000 });
    expect(evaluate(view(job, { outcomes: [ahead] })).fills).toMatchObject([{ attempt: 2, notBeforeMs: 0 }]);
    const hasEnded = report(allocation('a1'), { state: 'failed', released: true, endedAtMs: 428_000 });
    expect(outcomeOf(allocation('a1'), hasEnded, 10_000)).toMatchObject({ endedAtMs: 10_000 });
  });

  it('S0.21 an end that the job did not cause counts for nothing', () => {
    const job = makeJob('batch', { reschedule: { ...BACKOFF, attempts: 1 } });
    const lost = outcome({ state: 'lost' });
    const moved = outcome({ state: 'killed', cause: 'host is draining', attempt: 2 });
    expect(evaluate(view(job, { outcomes: [lost, moved, { ...lost, attempt: 3 }] })).fills).toHaveLength(1);
    const twice = [outcome(), outcome({ attempt: 2 })];
    expect(evaluate(view(job, { outcomes: twice })).finished).toBe('failed');
  });

  it('I21 a job that allows no second attempt is not started again after an end that was not observed', () => {
    const job = makeJob('batch', { reschedule: { ...BACKOFF, attempts: 0 } });
    expect(evaluate(view(job, { outcomes: [outcome({ state: 'lost' })] })).finished).toBe('failed');
  });

  it('S1.17 scale-down reaps foo.2 but keeps the history of foo.1', () => {
    const job = makeJob('service', { count: 1, reschedule: BACKOFF });
    const [first, second] = [allocation('a1'), allocation('a2', { index: 1 })];
    const history = [outcome({ index: 0, allocation: 'old-1' })];
    const live = [running(first), running(second)];
    const { stops } = evaluate(view(job, { live, outcomes: history }));
    expect(stops).toMatchObject([{ allocation: { id: 'a2' }, mode: 'remove' }]);
    const removed = allocation('a2', { index: 1, desired: 'remove' });
    const end = report(removed, { state: 'killed', released: true });
    expect(outcomeOf(removed, end, 0)).toBeNull();
    expect(surplusOutcomes(history, BACKOFF, 5)).toEqual([]);
  });

  it('I6 a gang whose members leave is filled whole, when the last is gone, and waits as one', () => {
    const job = makeJob('batch', { count: 3, gang: true, waitMaxMs: 5_000, reschedule: BACKOFF });
    const leaving = allocation('a1', { desired: 'stop', cause: 'replaced by version 2' });
    const ended = outcome({ index: 1, cause: 'replaced by version 2', endedAtMs: 8_000 });
    expect(evaluate(view(job, { live: [running(leaving)], outcomes: [ended] })).fills).toEqual([]);
    // Two slots have waited longer than they may since the job came: their time counts from the last one's.
    const { fills, unplaceable } = evaluate(view(job, { outcomes: [ended] }));
    expect(fills.map(({ sinceMs }) => sinceMs)).toEqual([8_000, 8_000, 8_000]);
    expect(unplaceable).toEqual([]);
  });

  it('I6 a member that ends for want of a place ends the others, but not those that came after', () => {
    const job = makeJob('batch', { count: 3, gang: true, reschedule: BACKOFF });
    const broken = allocation('a1', { desired: 'stop', cause: `${CAUSES.gangBroken}: no room`, host: 'h2' });
    const others = [1, 2].map((index) => running(allocation(`b${String(index)}`, { index })));
    const { stops } = evaluate(view(job, { live: [running(broken), ...others] }));
    expect(stops.map(({ allocation: { id } }) => id)).toEqual(['b1', 'b2']);
    expect(stops.every(({ cause }) => cause === broken.cause)).toBe(true);
    // The host of the broken one is lost, and its slot was filled again with the whole gang.
    const again = running(allocation('a2'));
    expect(evaluate(view(job, { live: [running(broken), again, ...others] })).stops).toEqual([]);
  });

  it('S1.35 S1.6 a user stop keeps the record where scale-down removes it', () => {
    const job = makeJob('service', { count: 1 });
    const record = { job, version: 1, desired: 'stop', submittedAtMs: 0 } as const;
    const { stops } = evaluate(view(job, { record, live: [running(allocation('a1'))] }));
    expect(stops).toMatchObject([{ mode: 'stop', cause: 'stopped by user' }]);
  });

  it('S1.19 S1.20 retention keeps what the policy still counts: zero, some and all', () => {
    const history = [...Array(30).keys()].map((attempt) => outcome({ attempt }));
    expect(surplusOutcomes(history, { ...BACKOFF, attempts: 2 }, 0)).toHaveLength(27);
    expect(surplusOutcomes(history, { ...BACKOFF, attempts: 2 }, 20)).toHaveLength(10);
    expect(surplusOutcomes(history, BACKOFF, 0)).toHaveLength(20);
    expect(surplusOutcomes(history, BACKOFF, null)).toEqual([]);
    const complete = history.map((each) => ({ ...each, state: 'complete' }));
    expect(surplusOutcomes(complete, BACKOFF, 0)).toEqual([]);
  });

  it('S1.20 I22 evictions after failures push none of them out: they are counted by themselves', () => {
    const failures = [...Array(3).keys()].map((attempt) =>
      outcome({ attempt, allocation: `f${String(attempt)}` }),
    );
    const evicted = [...Array(20).keys()].map((n) =>
      outcome({ attempt: 3 + n, allocation: `e${String(n)}`, state: 'killed', cause: 'evicted by another' }),
    );
    const surplus = surplusOutcomes([...failures, ...evicted], { ...BACKOFF, attempts: 2 }, 5);
    expect(surplus.map(({ allocation: id }) => id)).toEqual(
      evicted.slice(0, 15).map((one) => one.allocation),
    );
  });

  it('S1.31 a slot of an old version that fits nowhere takes the new spec at once, and waits anew', () => {
    const before = makeJob('service', { count: 1, constraints: [] });
    const after = makeJob('service', { count: 1, labels: { new: 'yes' } } as Partial<Group>);
    const record = { job: after, version: 2, desired: 'run', submittedAtMs: 9_000 } as const;
    const todo = evaluate(view(after, { record, versions: new Map([[1, before]]) }));
    expect(todo.stops).toEqual([]);
    expect(todo.fills).toMatchObject([{ index: 0, attempt: 1, notBeforeMs: 0 }]);
  });

  it.each([
    { restart: 'always', lost: true },
    { restart: 'always', lost: false },
    { restart: 'never', lost: true },
    { restart: 'never', lost: false },
  ] as const)(
    'S0.17 restart $restart with onHostLost $lost: what a host does and what is moved are apart',
    (pair) => {
      const restart = { ...RESTART, on: pair.restart };
      const job = makeJob('service', {
        count: 1,
        restart,
        reschedule: { ...BACKOFF, onHostLost: pair.lost },
      });
      const live = [running(allocation('a1'))];
      const lost = { state: 'lost', drainDeadlineMs: null } as const;
      const moved = evaluate(view(job, { live, hostCondition: () => lost }));
      expect(moved.stops.map(({ cause }) => cause)).toEqual(pair.lost ? [CAUSES.hostLost] : []);
      // What its host has ended for good is tried elsewhere, whatever would be done if the host were lost.
      const failed = evaluate(view(job, { outcomes: [outcome()] }));
      expect(failed.fills).toMatchObject([{ index: 0, attempt: 2 }]);
    },
  );

  it('a new version that changes only the count restarts nothing', () => {
    const before = makeJob('service', { count: 1 });
    const after = makeJob('service', { count: 2 });
    const record = { job: after, version: 2, desired: 'run', submittedAtMs: 0 } as const;
    const versions = new Map([[1, before]]);
    const todo = evaluate(view(after, { record, versions, live: [running(allocation('a1'))] }));
    expect(todo.stops).toEqual([]);
    expect(todo.fills).toMatchObject([{ index: 1 }]);
  });

  it('S3.24 an update goes on only past what has run long enough without a restart, and says what it waits for', () => {
    const before = makeJob('service', { count: 3, restart: RESTART });
    const after = makeJob('service', { count: 3, minHealthyMs: 5_000 });
    const old = [1, 2].map((index) => running(allocation(`a${String(index)}`, { index })));
    const fresh = allocation('b0', { index: 0, jobVersion: 2, attempt: 2 });
    const todo = (first: LiveAllocation | null, upMs: number, more: Partial<JobView> = {}) =>
      evaluate(
        view(after, {
          record: { job: after, version: 2, desired: 'run', submittedAtMs: 0 },
          ...{ versions: new Map([[1, before]]), live: first === null ? old : [first, ...old] },
          ...{ upForMs: ({ allocation: { id } }) => (id === 'b0' ? upMs : 0), ...more },
        }),
      );
    const young = todo(running(fresh), 2_000);
    expect(young).toMatchObject({ stops: [], nextAtMs: 13_000 });
    expect(young.rollouts).toEqual([
      {
        ...{ group: 'foo', version: 2, outdated: 2, failed: false },
        waitsFor: 'foo[0] has run for 2 s and must run for 5 s without a restart',
      },
    ]);
    expect(todo(running(fresh), 5_000).stops).toMatchObject([{ allocation: { id: 'a1' } }]);
    expect(todo(running(fresh), 5_000).rollouts).toMatchObject([{ outdated: 2, waitsFor: null }]);
    // Between two tries it is `running`, with the exit of the last one.
    const tasks = { foo: { state: 'running', exit: { code: 1 }, restarts: 2 } } as const;
    const loops = { allocation: fresh, report: report(fresh, { restarts: 2, tasks }) };
    // Its deadline.
    expect(todo(loops, 60_000)).toMatchObject({ stops: [], nextAtMs: 300_000 });
    expect(todo(loops, 60_000).rollouts[0]?.waitsFor).toBe(
      'foo[0] was restarted 2 times, the last time after exit code 1; it must run for 5 s without a restart',
    );
    const ended = outcome({ jobVersion: 2, attempt: 2, reason: 'foo: exit code 1' });
    const gone = todo(null, 0, { outcomes: [ended] });
    expect(gone.stops).toEqual([]);
    expect(gone.rollouts[0]?.waitsFor).toBe('foo[0] failed: foo: exit code 1');
  });

  it('S3.24 an old version that does not stay up does not hold its own replacement up', () => {
    const before = makeJob('service', { count: 2 });
    const after = makeJob('service', { count: 2, restart: RESTART });
    const tasks = { foo: { state: 'running', exit: { code: 1 }, restarts: 2 } } as const;
    const [one, two] = [allocation('a0'), allocation('a1', { index: 1 })];
    const live = [running(one), { allocation: two, report: report(two, { restarts: 9, tasks }) }];
    const record = { job: after, version: 2, desired: 'run', submittedAtMs: 0 } as const;
    const { stops } = evaluate(
      view(after, { record, versions: new Map([[1, before]]), live, upForMs: () => 0 }),
    );
    expect(stops).toMatchObject([{ allocation: { id: 'a1' } }]);
  });

  it('a change of labels or constraints moves only what no longer runs where it may, one at a time', () => {
    const before = makeJob('service', { count: 3 });
    const here = [{ attribute: 'zone', operator: '==', value: 'a', text: 'host.zone == a' }] as const;
    const live = ['h1', 'h2', 'h3'].map((host, index) =>
      running(allocation(`a${String(index)}`, { index, host })),
    );
    const todo = (zones: Readonly<Record<string, string>>, change: Partial<Group>) => {
      const after = { ...makeJob('service', { count: 3, ...change }), labels: { team: 'new' } };
      const record = { job: after, version: 2, desired: 'run', submittedAtMs: 0 } as const;
      const hostOf = (id: string) => makeHost(id, { attributes: { zone: zones[id] ?? '' } });
      return evaluate(view(after, { record, versions: new Map([[1, before]]), live, hostOf }));
    };
    const idsOf = ({ stops }: Evaluation) => stops.map(({ allocation: { id } }) => id);
    const together = { h1: 'a', h2: 'a', h3: 'a' };
    expect(idsOf(todo(together, {}))).toEqual([]);
    expect(idsOf(todo(together, { constraints: here }))).toEqual([]);
    const apart = todo({ h1: 'a', h2: 'b', h3: 'b' }, { constraints: here });
    expect(apart.stops).toMatchObject([{ allocation: { id: 'a1' }, cause: CAUSES.notMatching }]);
    expect(idsOf(todo({ h1: 'a', h2: 'b', h3: 'b' }, { distinct: ['zone'] }))).toEqual(['a2']);
    expect(idsOf(todo({ h1: 'a', h2: 'b', h3: 'c' }, { distinct: ['zone'] }))).toEqual([]);
  });

  it('what no longer matches the labels of its host moves one at a time, unless its policy or its data keeps it there', () => {
    const constraints = [{ attribute: 'zone', operator: '==', value: 'a', text: 'host.zone == a' }] as const;
    const live = ['h1', 'h2', 'h3'].map((host, index) =>
      running(allocation(`a${String(index)}`, { index, host })),
    );
    const stopsOf = (
      type: 'service' | 'batch',
      zones: Readonly<Record<string, string>>,
      more: Partial<Group>,
    ) => {
      const job = makeJob(type, { count: 3, constraints, ...more });
      const hostOf = (id: string) => makeHost(id, { attributes: { zone: zones[id] ?? '' } });
      return evaluate(view(job, { live, hostOf })).stops;
    };
    const apart = { h1: 'a', h2: 'b', h3: 'b' };
    expect(stopsOf('service', { h1: 'a', h2: 'a', h3: 'a' }, {})).toEqual([]);
    expect(stopsOf('service', apart, {})).toMatchObject([
      { allocation: { id: 'a1' }, mode: 'stop', cause: CAUSES.notMatching },
    ]);
    expect(stopsOf('service', apart, { update: { parallelism: 2 } })).toHaveLength(2);
    expect(stopsOf('batch', apart, {}).map(({ allocation }) => allocation.id)).toEqual(['a1', 'a2']);
    const { reschedule } = Object.values(makeJob('service', {}).groups)[0]!;
    expect(stopsOf('service', apart, { reschedule: { ...reschedule, onDrain: false } })).toEqual([]);
    const volumes = { data: { access: 'exclusive', onLoss: 'keep' } } as const;
    expect(stopsOf('service', apart, { volumes })).toEqual([]);
    expect(stopsOf('service', apart, { distinct: ['zone'] })).toHaveLength(1);
  });

  it('S3.32 I14 a job that stops when it is cut off gets its next allocation only when the one before is surely gone', () => {
    const graceMs = 5_000;
    const slow = { stop: { signal: 'SIGTERM', graceMs } } as Task;
    const job = makeJob('service', { count: 1, stopAfterDisconnectMs: 60_000, tasks: { slow } });
    const live = [running(allocation('a1', { desired: 'stop', cause: 'host lost' }))];
    const after = (cutOffMs: number | null) =>
      evaluate(
        view(job, {
          live,
          hostCondition: () => ({
            ...{ state: 'lost', drainDeadlineMs: null },
            ...(cutOffMs === null ? {} : { cutOffMs }),
          }),
        }),
      );
    const wholeMs = 60_000 + graceMs + 2_000;
    expect(after(null)).toMatchObject({ fills: [], nextAtMs: 10_000 + wholeMs });
    expect(after(40_000)).toMatchObject({ fills: [], nextAtMs: 10_000 + wholeMs - 40_000, finished: null });
    expect(after(wholeMs - 1)).toMatchObject({ fills: [] });
    expect(after(wholeMs)).toMatchObject({ fills: [{ replaces: 'a1' }] });
    // Of the job as it was when that allocation was made.
    const then = makeJob('service', { count: 1 });
    const older = view(then, {
      ...{
        live,
        versions: new Map([[1, job]]),
        record: { job: then, version: 2, desired: 'run', submittedAtMs: 0 },
      },
      hostCondition: () => ({ state: 'lost', drainDeadlineMs: null, cutOffMs: 0 }),
    });
    expect(evaluate(older).fills).toEqual([]);
  });

  it('S0.40 I62 a draining host loses the copies of a service one at a time', () => {
    const job = makeJob('service', { count: 2 });
    const first = running(allocation('a1'));
    const live = [first, running(allocation('a2', { index: 1 }))];
    const standing = () => ({ state: 'draining', drainDeadlineMs: 20_000 }) as const;
    expect(evaluate(view(job, { live, hostCondition: standing })).stops).toHaveLength(1);
    expect(evaluate(view(job, { live, hostCondition: standing, nowMs: 20_000 })).stops).toHaveLength(2);
    const starting = [first, { allocation: allocation('a2', { index: 1 }), report: null }];
    const half = evaluate(view(job, { live: starting, hostCondition: standing })).stops;
    expect(half.map(({ allocation: { id } }) => id)).toEqual(['a2']);
  });

  it('I63 a draining host loses first what began last, as long as it is not proven', () => {
    const job = makeJob('service', { count: 3 });
    const live = ['a1', 'a2', 'a3'].map((id, index) => running(allocation(id, { index })));
    const standing = () => ({ state: 'draining', drainDeadlineMs: null }) as const;
    const firstOf = (upMs: Readonly<Record<string, number>>): string | undefined => {
      const upForMs: JobView['upForMs'] = ({ allocation: { id } }) => upMs[id] ?? 0;
      return evaluate(view(job, { live, hostCondition: standing, upForMs })).stops[0]?.allocation.id;
    };
    expect(firstOf({ a1: 60_000, a2: 400, a3: 300 })).toBe('a3');
    expect(firstOf({ a1: 60_000, a2: 400, a3: 50_000 })).toBe('a2');
    expect(firstOf({ a1: 60_000, a2: 90_000, a3: 50_000 })).toBe('a1');
  });

  it.each(['service', 'batch'] as const)(
    'S0.1 a %s that no drain moves runs to the deadline, and begins again on its own host',
    (type) => {
      const reschedule = { ...BACKOFF, onDrain: false };
      const job = makeJob(type, { count: 1, reschedule });
      const live = [running(allocation('a1'))];
      const drained = { state: 'draining', drainDeadlineMs: 20_000 } as const;
      const before = evaluate(view(job, { live, hostCondition: () => drained }));
      expect(before).toMatchObject({ stops: [], nextAtMs: 20_000 });
      const due = evaluate(view(job, { live, hostCondition: () => drained, nowMs: 20_000 }));
      expect(due.stops).toMatchObject([{ allocation: { id: 'a1' }, cause: CAUSES.draining }]);
      const endless = { state: 'draining', drainDeadlineMs: null } as const;
      expect(evaluate(view(job, { live, hostCondition: () => endless, nowMs: 1e9 })).stops).toEqual([]);

      const ended = { outcomes: [outcome({ state: 'killed', cause: CAUSES.draining })] };
      const there = { ...ended, hostOf: (id: string) => makeHost(id) };
      expect(evaluate(view(job, there)).fills).toMatchObject([{ host: 'h1', avoidHosts: [], attempt: 2 }]);
      expect(evaluate(view(makeJob(type, { count: 1 }), there)).fills[0]?.host).toBeUndefined();
      // It comes back to no host that is gone, and waits for a lost one unless its job does not.
      expect(evaluate(view(job, ended)).fills[0]?.host).toBeUndefined();
      const lost = { ...there, hostCondition: () => ({ state: 'lost', drainDeadlineMs: null }) as const };
      expect(evaluate(view(job, lost)).fills[0]?.host).toBe('h1');
      const asking = makeJob(type, { count: 1, reschedule: { ...reschedule, onHostLost: true } });
      expect(evaluate(view(asking, lost)).fills[0]?.host).toBeUndefined();
    },
  );

  describe('what a lost host held and is back', () => {
    const at = (startedAtMs: number) => ({ main: { state: 'running', restarts: 0, startedAtMs } as const });
    const policy = (onReturn: ReturnPolicy) =>
      makeJob('service', { count: 1, reschedule: { ...BACKOFF, onHostLost: true, onReturn } });
    const a = allocation('a', { host: 'h1', attempt: 1 });
    const b = allocation('b', { host: 'h2', attempt: 2, replaces: 'a' });
    const c = allocation('c', { host: 'h3', attempt: 3, replaces: 'b' });
    const live = [
      { allocation: a, report: report(a, { tasks: at(30) }) },
      { allocation: b, report: report(b, { tasks: at(10) }) },
      { allocation: c, report: report(c, { tasks: at(20) }) },
    ];
    const lostAre = (...lost: readonly string[]) => ({
      hostCondition: (host: string) =>
        ({ state: lost.includes(host) ? 'lost' : 'ready', drainDeadlineMs: null }) as const,
    });
    const stopped = (evaluation: Evaluation) =>
      evaluation.stops.map(({ allocation: { id }, cause }) => `${id}: ${cause}`);

    it('S0.13 is told to stop at the loss when the newest is kept, and otherwise waits beside its successor', () => {
      const alone = { live: live.slice(0, 1), ...lostAre('h1') };
      expect(stopped(evaluate(view(policy('newest'), alone)))).toEqual(['a: host lost']);
      for (const kept of ['oldest', 'original', 'longest-running'] as const) {
        const evaluation = evaluate(view(policy(kept), alone));
        expect(evaluation.stops).toEqual([]);
        expect(evaluation.fills).toMatchObject([{ attempt: 2, replaces: 'a', avoidHosts: ['h1'] }]);
        const replaced = evaluate(view(policy(kept), { live: live.slice(0, 2), ...lostAre('h1') }));
        expect(replaced).toMatchObject({ stops: [], fills: [] });
      }
    });

    it.each([
      ['newest', ['a: duplicate of c', 'b: duplicate of c']],
      ['oldest', ['b: duplicate of a', 'c: duplicate of a']],
      ['original', ['b: duplicate of a', 'c: duplicate of a']],
      ['longest-running', ['a: duplicate of b', 'c: duplicate of b']],
    ] as const)('S0.13 S0.14 of those that run, %s keeps one and stops the others', (kept, stops) => {
      expect(stopped(evaluate(view(policy(kept), { live })))).toEqual(stops);
    });

    it('S0.13 the original is the one that took nobody’s place', () => {
      const back = { live, ...lostAre('h1') };
      expect(stopped(evaluate(view(policy('original'), back)))).toEqual(['b: duplicate of c']);
      expect(stopped(evaluate(view(policy('oldest'), back)))).toEqual(['c: duplicate of b']);
    });

    it('S0.13 one of a newer version is kept in any case', () => {
      const job = policy('oldest');
      const group = job.groups['foo'];
      if (group === undefined) throw new Error('no group');
      const then = { ...job, groups: { foo: { ...group, ports: { http: 1 } } } };
      const now = { ...c, jobVersion: 2 };
      const mixed = [live[0], { allocation: now, report: report(now) }].filter((one) => one !== undefined);
      const newer = {
        record: { job, version: 2, desired: 'run' as const, submittedAtMs: 0 },
        versions: new Map([[1, then]]),
        live: mixed,
      };
      expect(stopped(evaluate(view(job, newer)))).toEqual(['a: duplicate of c']);
      // Not even set aside: it is told to stop while its host is lost.
      expect(stopped(evaluate(view(job, { ...newer, ...lostAre('h1') })))).toEqual(['a: host lost']);
    });

    it('S0.14 nothing is stopped for one that is not known to run', () => {
      const pair = live.slice(0, 2);
      const unheard = { live: pair, isReporting: (host: string) => host !== 'h1' };
      expect(evaluate(view(policy('oldest'), unheard))).toMatchObject({
        stops: [],
        fills: [],
        nextAtMs: 10_500,
      });
      const dead = [{ allocation: a, report: report(a, { state: 'failed' }) }, ...live.slice(1, 2)];
      expect(stopped(evaluate(view(policy('oldest'), { live: dead })))).toEqual(['a: duplicate of b']);
      const unbegun = [a, b].map((one) => ({ allocation: one, report: null }));
      expect(evaluate(view(policy('oldest'), { live: unbegun })).stops).toEqual([]);
    });
  });

  it('I62 at its deadline a drain takes what an update that does not go on would replace', () => {
    const job = makeJob('service', { count: 2 });
    const then = makeJob('service', { count: 2, ports: { http: 1 } });
    const live = [running(allocation('a1'))];
    const outcomes = [outcome({ index: 1, jobVersion: 2, endedAtMs: 9_000 })];
    const versions = new Map([[1, then]]);
    const record = { job, version: 2, desired: 'run' as const, submittedAtMs: 0 };
    const standing = () => ({ state: 'draining', drainDeadlineMs: 20_000 }) as const;
    const held = view(job, { live, outcomes, versions, record, hostCondition: standing });
    expect(evaluate(held)).toMatchObject({ stops: [], nextAtMs: expect.any(Number) as number });
    expect(evaluate({ ...held, nowMs: 20_000 }).stops).toMatchObject([{ cause: CAUSES.draining }]);
  });

  it('S0.43 what was stopped stays stopped, whatever its host and its policies say', () => {
    const job = makeJob('service', { count: 1, reschedule: { ...BACKOFF, onHostLost: true } });
    const stopped = { record: { job, version: 1, desired: 'stop' as const, submittedAtMs: 0 } };
    for (const state of ['ready', 'draining', 'lost'] as const)
      for (const outcomes of [[], [outcome()], [outcome({ state: 'lost' })]]) {
        const hostCondition = () => ({ state, drainDeadlineMs: null }) as const;
        expect(evaluate(view(job, { ...stopped, outcomes, hostCondition })).fills).toEqual([]);
      }
  });

  it('I24 a slot waits for a place no longer than its group allows', () => {
    const job = makeJob('batch', { count: 2, waitMaxMs: 5_000 });
    expect(evaluate(view(job, { nowMs: 4_999 }))).toMatchObject({ unplaceable: [], nextAtMs: 5_000 });
    expect(evaluate(view(job, { nowMs: 5_000 })).unplaceable).toHaveLength(2);
  });

  it('I24 what takes the place of an allocation on a lost host waits from the verdict on, or from when its owner stopped it', () => {
    const job = makeJob('batch', {
      count: 1,
      waitMaxMs: 5_000,
      reschedule: { ...BACKOFF, onHostLost: true },
    });
    const stopped = running(allocation('a1', { desired: 'stop', cause: 'host lost' }));
    const lost = { state: 'lost', drainDeadlineMs: null, lostSinceMs: 60_000 } as const;
    const at = (nowMs: number, stoppedAtMs: number | null) =>
      evaluate(view(job, { nowMs, live: [{ ...stopped, stoppedAtMs }], hostCondition: () => lost }));
    expect(at(64_999, null)).toMatchObject({ fills: [{ attempt: 2 }], unplaceable: [], nextAtMs: 65_000 });
    expect(at(65_000, null)).toMatchObject({ fills: [], unplaceable: [{ attempt: 2 }] });
    // It had to wait for a token of a budget first.
    expect(at(65_000, 62_000)).toMatchObject({ fills: [{ attempt: 2 }], unplaceable: [], nextAtMs: 67_000 });
  });

  it('I46 S1.18 a slot is free again only when the record of its last allocation is gone', () => {
    const job = makeJob('service', { count: 1 });
    const stopping = allocation('a1', { desired: 'stop', cause: 'replaced by version 2' });
    const live = [{ allocation: stopping, report: report(stopping, { state: 'killed', released: false }) }];
    expect(evaluate(view(job, { live })).fills).toEqual([]);
    expect(evaluate(view(job, { live })).finished).toBeNull();
    const lost = () => ({ state: 'lost', drainDeadlineMs: null }) as const;
    expect(evaluate(view(job, { live, hostCondition: lost })).fills).toMatchObject([
      { attempt: 2, replaces: 'a1' },
    ]);
  });
});
