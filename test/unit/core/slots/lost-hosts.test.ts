import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../src/core/cell/allocation.ts';
import type { Group, Job, Task } from '../../../../src/core/cell/job.ts';
import type { FenceAnswers } from '../../../../src/core/host/host.ts';
import type { HostCondition, JobView } from '../../../../src/core/slots/job-view.ts';
import { evaluate } from '../../../../src/core/slots/slots.ts';
import { allocationOf } from '../../../support/monitor-world.ts';
import { makeGroup } from '../placement/placement-fixtures.ts';

const MOVES = { attempts: null, delayMs: 0, delayMaxMs: 0, onHostLost: true };
const GRACE_MS = 5_000;
const TASK = { stop: { signal: 'SIGTERM', graceMs: GRACE_MS } } as Task;
const CONFIRMED = { confirmed: true, counter: 4, detail: '', by: 'm1', atMs: 0 };

function jobOf(group: Partial<Group>): Job {
  const foo = makeGroup({ name: 'foo', count: 1, reschedule: MOVES, tasks: { main: TASK }, ...group });
  return {
    ...{ namespace: 'default', name: 'foo', type: 'service', precedence: 50, scheduler: 'auto' },
    ...{ labels: {}, oneOff: false, groups: { foo } },
  };
}

const placed = (part: Partial<Allocation> = {}): Allocation =>
  allocationOf('h1', 'a1', {
    ...{ job: 'foo', group: 'foo', jobVersion: 1, epoch: { incarnation: 'i', counter: 3 } },
    ...part,
  });

function viewOf(group: Partial<Group>, allocation: Allocation, lost: Partial<HostCondition>): JobView {
  const job = jobOf(group);
  return {
    record: { job, version: 1, desired: 'run', submittedAtMs: 0 },
    ...{ live: [{ allocation, report: null }], outcomes: [], versions: new Map([[1, job]]), rollout: null },
    hostCondition: (host) =>
      host === 'h1'
        ? { state: 'lost', drainDeadlineMs: null, ...lost }
        : { state: 'ready', drainDeadlineMs: null },
    ...{ hostOf: () => undefined, upForMs: () => Infinity, matching: () => [], nowMs: 10_000 },
  };
}

const STOPS = { stops: [{ cause: 'host lost' }] };

describe('what is on a lost host and wants a fence', () => {
  it('S0.34 I72 stays until a fence has confirmed that it runs there no more, and is then replaced', () => {
    const power = { fences: ['power', 'network'] };
    const evaluation = (lost: Partial<HostCondition>, part: Partial<Allocation> = {}) =>
      evaluate(viewOf(power, placed(part), lost));
    expect(evaluation({})).toMatchObject({ stops: [], fills: [], nextAtMs: null });
    expect(evaluation({ cutOffMs: 1e9 })).toMatchObject({ stops: [], fills: [] });
    expect(evaluation({ fences: { power: { ...CONFIRMED, confirmed: false } } })).toMatchObject({
      stops: [],
    });
    expect(evaluation({ fences: { other: CONFIRMED } })).toMatchObject({ stops: [] });
    // Of an earlier verdict.
    expect(evaluation({ fences: { power: { ...CONFIRMED, counter: 3 } } })).toMatchObject({ stops: [] });
    expect(evaluation({ fences: { network: CONFIRMED } })).toMatchObject(STOPS);
    expect(evaluation({ fences: 'all' })).toMatchObject(STOPS);
    const stopped = { desired: 'stop', cause: 'host lost' } as const;
    expect(evaluation({ fences: { power: CONFIRMED } }, stopped)).toMatchObject({
      fills: [{ replaces: 'a1' }],
    });
  });

  it('I72 what was stopped for another reason blocks its slot as well, and is not given up for its age', () => {
    const stopped = placed({ desired: 'stop', cause: 'replaced by version 2' });
    const old = { givenUpAtMs: 0 };
    expect(evaluate(viewOf({ fences: ['power'] }, stopped, old))).toMatchObject({ fills: [], givenUp: [] });
    expect(evaluate(viewOf({}, stopped, old))).toMatchObject({ fills: [{}], givenUp: [{}] });
    const fenced = { ...old, fences: { power: CONFIRMED } };
    expect(evaluate(viewOf({ fences: ['power'] }, stopped, fenced))).toMatchObject({
      fills: [{}],
      givenUp: [{}],
    });
    const removed = { ...old, isRemoved: true };
    expect(evaluate(viewOf({ fences: ['power'] }, placed(), removed))).toMatchObject({ givenUp: [{}] });
  });

  it('S0.34 I14 a host fences itself by the time that its job gives it, and not without one', () => {
    const wholeMs = 60_000 + GRACE_MS + 2_000;
    const self = { fences: ['power', 'self'], stopAfterDisconnectMs: 60_000 };
    const after = (cutOffMs: number) => evaluate(viewOf(self, placed(), { cutOffMs }));
    expect(after(0)).toMatchObject({ stops: [], nextAtMs: 10_000 + wholeMs });
    expect(after(wholeMs - 1)).toMatchObject({ stops: [], nextAtMs: 10_001 });
    expect(after(wholeMs)).toMatchObject(STOPS);
    const sooner = viewOf(self, placed(), { cutOffMs: 0, fences: { power: CONFIRMED } });
    expect(evaluate(sooner)).toMatchObject(STOPS);
    // It was started without that bound.
    const unbound = evaluate(viewOf({ fences: ['self'] }, placed(), { cutOffMs: 1e9 }));
    expect(unbound).toMatchObject({ stops: [], fills: [], nextAtMs: null });
  });

  it('S0.34 whoever takes the word back need not wait', () => {
    const before = viewOf({ fences: ['power'] }, placed(), {});
    const now = { ...before.record, job: jobOf({}), version: 2 };
    expect(evaluate({ ...before, record: now })).toMatchObject(STOPS);
  });

  it('I72 is never replaced without a confirmation, whatever else holds', () => {
    const answers = fc.dictionary(
      fc.constantFrom('power', 'network', 'other'),
      fc.record({
        ...{ confirmed: fc.boolean(), counter: fc.integer({ min: 0, max: 6 }) },
        ...{ detail: fc.constant(''), by: fc.constant('m1'), atMs: fc.nat(20_000) },
      }),
    );
    const law = fc.property(
      ...([
        answers,
        fc.integer({ min: 0, max: 6 }),
        fc.constantFrom('run', 'stop', 'remove', 'evict'),
      ] as const),
      ...([fc.nat(1e6), fc.option(fc.nat(20_000), { nil: undefined }), fc.boolean()] as const),
      (fences: FenceAnswers, counter, desired, cutOffMs, givenUpAtMs, gang) => {
        const group = { fences: ['power', 'network'], gang };
        const allocation = placed({ desired, epoch: { incarnation: 'i', counter }, cause: 'x' });
        const given = givenUpAtMs === undefined ? {} : { givenUpAtMs };
        const evaluation = evaluate(viewOf(group, allocation, { fences, cutOffMs, ...given }));
        const isConfirmed = ['power', 'network'].some(
          (name) => fences[name]?.confirmed === true && fences[name].counter > counter,
        );
        if (isConfirmed) return;
        expect([...evaluation.fills, ...evaluation.stops, ...evaluation.givenUp]).toEqual([]);
      },
    );
    fc.assert(law);
  });
});
