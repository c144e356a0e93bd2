import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Allocation, Outcome } from '../../../../src/core/cell/allocation.ts';
import { outcomeOf } from '../../../../src/core/slots/outcomes.ts';
import type { Group, Job, JobRecord } from '../../../../src/core/cell/job.ts';
import type { AllocationReport } from '../../../../src/core/host/report.ts';
import { NO_RESOURCES } from '../../../../src/core/cell/resources.ts';
import type { Fill, JobView, LiveAllocation, Evaluation } from '../../../../src/core/slots/job-view.ts';
import { evaluate } from '../../../../src/core/slots/slots.ts';
import type { ObservedState } from '../../../../src/core/host/states.ts';
import { makeGroup } from '../placement/placement-fixtures.ts';

/** A job, the hosts and the store in one: obeys what `evaluate` wants, in whatever order chance likes. */
class SlotModel {
  nowMs = 1_000;
  job: Job;
  version = 1;
  desired: JobRecord['desired'] = 'run';
  readonly versions = new Map<number, Job>();
  live: LiveAllocation[] = [];
  outcomes: Outcome[] = [];
  readonly lost = new Set<string>();
  starts = 0;

  constructor(type: Job['type'], group: Group) {
    this.job = {
      ...{ namespace: 'default', name: 'job', type, precedence: 50, scheduler: 'auto', labels: {} },
      ...{ oneOff: false, groups: { [group.name]: group } },
    };
    this.versions.set(1, this.job);
  }

  view(): JobView {
    const { job, version, desired } = this;
    return {
      record: { job, version, desired, submittedAtMs: 0 },
      live: this.live,
      outcomes: this.outcomes,
      versions: this.versions,
      rollout: null,
      hostCondition: (host) => ({ state: this.lost.has(host) ? 'lost' : 'ready', drainDeadlineMs: null }),
      hostOf: () => undefined,
      upForMs: () => Infinity,
      matching: () => HOSTS.map((host) => ({ host, ready: !this.lost.has(host) })),
      nowMs: this.nowMs,
    };
  }

  look(): Evaluation {
    return evaluate(this.view());
  }

  update(change: Partial<Group>): void {
    const [group] = Object.values(this.job.groups);
    if (group === undefined) throw new Error('the job has no group');
    this.job = { ...this.job, groups: { [group.name]: { ...group, ...change } } };
    this.version += 1;
    this.versions.set(this.version, this.job);
  }

  /** Does what was asked: all stops first, then as many fills as `most`. */
  obey(evaluation: Evaluation, most: number): void {
    for (const { allocation, mode, cause } of evaluation.stops)
      this.#replace(allocation.id, (live) => ({
        ...live,
        allocation: { ...allocation, desired: mode, cause },
      }));
    const due = evaluation.fills.filter((fill) => fill.notBeforeMs <= this.nowMs);
    for (const fill of due.slice(0, most)) this.#place(fill);
    for (const { allocation, report } of evaluation.releases) {
      if (report === null) throw new Error('released without a report');
      const outcome = outcomeOf(allocation, report, this.nowMs);
      if (outcome !== null) this.outcomes.push(outcome);
      this.live = this.live.filter((live) => live.allocation.id !== allocation.id);
    }
    this.checkSlots();
  }

  /** One step of an allocation: any while it runs, towards its end when it is to stop. */
  step(pick: number, state: ObservedState): void {
    const live = this.live[pick % Math.max(1, this.live.length)];
    if (live === undefined || this.lost.has(live.allocation.host)) return;
    const isStopping = live.allocation.desired !== 'run';
    const end = isStopping ? 'killed' : state;
    const isEnd = end !== 'running';
    this.#replace(live.allocation.id, () => ({
      ...live,
      report: reportOf(live.allocation, end, isEnd),
    }));
  }

  checkSlots(): void {
    const running = this.live.filter(({ allocation }) => allocation.desired === 'run');
    const slots = running.map(({ allocation }) => `${allocation.group}/${String(allocation.index)}`);
    expect(new Set(slots).size, 'I12').toBe(slots.length);
  }

  #place(fill: Fill): void {
    this.starts += 1;
    const id = `a${String(this.starts)}`;
    const host = fill.host ?? HOSTS[this.starts % HOSTS.length] ?? '';
    const allocation: Allocation = {
      ...{
        id,
        host,
        precedence: 50,
        resources: NO_RESOURCES,
        gpus: [],
        ports: {},
        namespace: 'default',
        job: 'job',
      },
      ...{
        jobVersion: this.version,
        group: fill.group,
        index: fill.index,
        attempt: fill.attempt,
        scheduler: 's',
      },
      ...{ desired: 'run', planId: 'p', epoch: { incarnation: 'i', counter: 0 }, createdAtMs: this.nowMs },
    };
    this.live = [...this.live, { allocation, report: null }];
  }

  #replace(id: string, change: (live: LiveAllocation) => LiveAllocation): void {
    this.live = this.live.map((live) => (live.allocation.id === id ? change(live) : live));
  }
}

const HOSTS = ['h1', 'h2', 'h3', 'h4'];

function reportOf(allocation: Allocation, state: ObservedState, released: boolean): AllocationReport {
  const { id, host, precedence, resources, gpus, ports, namespace, job, jobVersion, group, index } =
    allocation;
  return {
    ...{ id, host, precedence, resources, gpus, ports, namespace, job, jobVersion, group, index },
    ...{
      attempt: allocation.attempt,
      scheduler: 's',
      state,
      released,
      reason: state,
      restarts: 0,
      tasks: {},
    },
  };
}

type Move =
  | { readonly kind: 'obey'; readonly most: number }
  | { readonly kind: 'step'; readonly pick: number; readonly state: ObservedState }
  | { readonly kind: 'wait' }
  | { readonly kind: 'lose'; readonly host: string }
  | { readonly kind: 'return'; readonly host: string }
  | { readonly kind: 'scale'; readonly count: number }
  | { readonly kind: 'change'; readonly deadlineMs: number };

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('obey' as const), most: fc.nat(6) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('step' as const),
      pick: fc.nat(30),
      state: fc.constantFrom<ObservedState>('running', 'complete', 'failed', 'lost', 'rejected'),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'wait' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('lose' as const), host: fc.constantFrom(...HOSTS) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('return' as const), host: fc.constantFrom(...HOSTS) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('scale' as const), count: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('change' as const), deadlineMs: fc.nat(3) }) },
);

function play(model: SlotModel, moves: readonly Move[]): void {
  for (const next of moves) {
    if (next.kind === 'obey') model.obey(model.look(), next.most);
    else if (next.kind === 'step') model.step(next.pick, next.state);
    else if (next.kind === 'wait') model.nowMs += 60_000;
    else if (next.kind === 'lose') model.lost.add(next.host);
    else if (next.kind === 'return') model.lost.delete(next.host);
    else if (next.kind === 'scale') model.update({ count: next.count });
    else model.update({ deadlineMs: next.deadlineMs });
    model.checkSlots();
  }
}

/** Faults stop, every task does as it should: does it come to rest? */
function quiet(model: SlotModel, state: ObservedState): Evaluation {
  model.lost.clear();
  for (let round = 0; round < 200; round++) {
    model.nowMs += 60_000;
    for (let pick = 0; pick < model.live.length; pick++) {
      const live = model.live[pick];
      if (live?.report?.released !== true) model.step(pick, state);
    }
    const evaluation = model.look();
    const isAtRest = evaluation.stops.length + evaluation.releases.length + evaluation.fills.length === 0;
    if (isAtRest) return evaluation;
    model.obey(evaluation, Number.POSITIVE_INFINITY);
  }
  throw new Error('it never came to rest');
}

const policy = { attempts: null, delayMs: 1_000, delayMaxMs: 30_000, onHostLost: true };

describe('what should change for a job', () => {
  it('S0.16 I12 no slot ever has two allocations that should run, whatever happens in which order', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<Job['type']>('service', 'batch', 'system'),
        fc.boolean(),
        fc.array(move, { maxLength: 60 }),
        (type, onHostLost, moves) => {
          const group = makeGroup({ name: 'g', count: 3, reschedule: { ...policy, onHostLost } });
          play(new SlotModel(type, group), moves);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('a batch job completes each of its slots exactly once, and then is complete', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 60 }), fc.integer({ min: 1, max: 3 }), (moves, parallelism) => {
        const group = makeGroup({ name: 'g', count: 4, parallelism, reschedule: policy });
        const model = new SlotModel('batch', group);
        play(
          model,
          moves.filter(({ kind }) => kind !== 'scale' && kind !== 'change'),
        );
        const evaluation = quiet(model, 'complete');
        expect(evaluation.finished).toBe('complete');
        const complete = model.outcomes.filter((outcome) => outcome.state === 'complete');
        expect(complete.map((outcome) => outcome.index).sort()).toEqual([0, 1, 2, 3]);
      }),
      { numRuns: 300 },
    );
  });

  it('a batch job never runs more than its parallelism at once', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 60 }), fc.integer({ min: 1, max: 3 }), (moves, parallelism) => {
        const group = makeGroup({
          name: 'g',
          count: 8,
          parallelism,
          reschedule: { ...policy, onHostLost: false },
        });
        const model = new SlotModel('batch', group);
        for (const next of moves.filter(({ kind }) => kind === 'obey' || kind === 'step')) {
          play(model, [next]);
          expect(model.live.length).toBeLessThanOrEqual(parallelism);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('a service comes to rest with each slot running, all of the current version', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 60 }), (moves) => {
        const model = new SlotModel('service', makeGroup({ name: 'g', count: 3, reschedule: policy }));
        play(model, moves);
        const evaluation = quiet(model, 'running');
        expect(evaluation.finished).toBe(Object.values(model.job.groups)[0]?.count === 0 ? 'complete' : null);
        const count = Object.values(model.job.groups)[0]?.count ?? 0;
        const indexes = model.live.map(({ allocation }) => allocation.index).sort();
        expect(indexes).toEqual([...Array(count).keys()]);
      }),
      { numRuns: 300 },
    );
  });

  it('S1.36 looking twice says the same, and a stopped job ends with nothing left', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<Job['type']>('service', 'batch', 'system'),
        fc.array(move, { maxLength: 40 }),
        (type, moves) => {
          const model = new SlotModel(type, makeGroup({ name: 'g', count: 3, reschedule: policy }));
          play(model, moves);
          expect(model.look()).toEqual(model.look());
          model.desired = 'stop';
          expect(quiet(model, 'running').finished).toBe('stopped');
          expect(model.live).toEqual([]);
        },
      ),
      { numRuns: 300 },
    );
  });
});
