import { describe, expect, it } from 'vitest';
import type { Group, ReturnPolicy } from '../../../../src/core/cell/job.ts';
import type { Evaluation, JobView, LiveAllocation } from '../../../../src/core/slots/job-view.ts';
import { CAUSES } from '../../../../src/core/slots/job-view.ts';
import { evaluate } from '../../../../src/core/slots/slots.ts';
import { makeHost } from '../placement/placement-fixtures.ts';
import { allocation, BACKOFF, makeJob, outcome, report, RESTART, running, view } from './slot-fixtures.ts';

describe('what is displaced', () => {
  it('S3.24 an update goes on only past what has run long enough without a restart, and says what it waits for', () => {
    const before = makeJob('service', { count: 3, restart: RESTART });
    const after = makeJob('service', { count: 3, minHealthyMs: 5_000 });
    const old = [1, 2].map((index) => running(allocation(`a${String(index)}`, { index })));
    const fresh = allocation('b0', { index: 0, jobVersion: 2, attempt: 2 });
    const evaluation = (first: LiveAllocation | null, upMs: number, more: Partial<JobView> = {}) =>
      evaluate(
        view(after, {
          record: { job: after, version: 2, desired: 'run', submittedAtMs: 0 },
          ...{ versions: new Map([[1, before]]), live: first === null ? old : [first, ...old] },
          ...{ upForMs: ({ allocation: { id } }) => (id === 'b0' ? upMs : 0), ...more },
        }),
      );
    const young = evaluation(running(fresh), 2_000);
    expect(young).toMatchObject({ stops: [], nextAtMs: 13_000 });
    expect(young.rollouts).toEqual([
      {
        ...{ group: 'foo', version: 2, outdated: 2, failed: false },
        waitsFor: 'foo[0] has run for 2 s and must run for 5 s without a restart',
      },
    ]);
    expect(evaluation(running(fresh), 5_000).stops).toMatchObject([{ allocation: { id: 'a1' } }]);
    expect(evaluation(running(fresh), 5_000).rollouts).toMatchObject([{ outdated: 2, waitsFor: null }]);
    // Between two tries it is `running`, with the exit of the last one.
    const tasks = { foo: { state: 'running', exit: { code: 1 }, restarts: 2 } } as const;
    const loops = { allocation: fresh, report: report(fresh, { restarts: 2, tasks }) };
    // Its deadline.
    expect(evaluation(loops, 60_000)).toMatchObject({ stops: [], nextAtMs: 300_000 });
    expect(evaluation(loops, 60_000).rollouts[0]?.waitsFor).toBe(
      'foo[0] was restarted 2 times, the last time after exit code 1; it must run for 5 s without a restart',
    );
    const ended = outcome({ jobVersion: 2, attempt: 2, reason: 'foo: exit code 1' });
    const gone = evaluation(null, 0, { outcomes: [ended] });
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
    const evaluation = (zones: Readonly<Record<string, string>>, change: Partial<Group>) => {
      const after = { ...makeJob('service', { count: 3, ...change }), labels: { team: 'new' } };
      const record = { job: after, version: 2, desired: 'run', submittedAtMs: 0 } as const;
      const hostOf = (id: string) => makeHost(id, { attributes: { zone: zones[id] ?? '' } });
      return evaluate(view(after, { record, versions: new Map([[1, before]]), live, hostOf }));
    };
    const idsOf = ({ stops }: Evaluation) => stops.map(({ allocation: { id } }) => id);
    const together = { h1: 'a', h2: 'a', h3: 'a' };
    expect(idsOf(evaluation(together, {}))).toEqual([]);
    expect(idsOf(evaluation(together, { constraints: here }))).toEqual([]);
    const apart = evaluation({ h1: 'a', h2: 'b', h3: 'b' }, { constraints: here });
    expect(apart.stops).toMatchObject([{ allocation: { id: 'a1' }, cause: CAUSES.notMatching }]);
    expect(idsOf(evaluation({ h1: 'a', h2: 'b', h3: 'b' }, { distinct: ['zone'] }))).toEqual(['a2']);
    expect(idsOf(evaluation({ h1: 'a', h2: 'b', h3: 'c' }, { distinct: ['zone'] }))).toEqual([]);
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
});
