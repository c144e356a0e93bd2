import { describe, expect, it } from 'vitest';
import type { Group, Task } from '../../../../src/core/cell/job.ts';
import { outcomeOf, surplusOutcomes } from '../../../../src/core/slots/outcomes.ts';
import { CAUSES } from '../../../../src/core/slots/job-view.ts';
import { evaluate } from '../../../../src/core/slots/slots.ts';
import { allocation, BACKOFF, makeJob, outcome, report, RESTART, running, view } from './slot-fixtures.ts';

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
    const evaluation = evaluate(view(after, { record, versions: new Map([[1, before]]) }));
    expect(evaluation.stops).toEqual([]);
    expect(evaluation.fills).toMatchObject([{ index: 0, attempt: 1, notBeforeMs: 0 }]);
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
    const evaluation = evaluate(view(after, { record, versions, live: [running(allocation('a1'))] }));
    expect(evaluation.stops).toEqual([]);
    expect(evaluation.fills).toMatchObject([{ index: 1 }]);
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
