import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Allocation, Outcome } from '../../../../src/core/cell/allocation.ts';
import { SURPLUS_PRECEDENCE } from '../../../../src/core/cell/claim.ts';
import type { Job } from '../../../../src/core/cell/job.ts';
import { NO_RESOURCES } from '../../../../src/core/cell/resources.ts';
import type { AllocationReport } from '../../../../src/core/host/report.ts';
import type { Evaluation, Fill, LiveAllocation } from '../../../../src/core/slots/job-view.ts';
import { CAUSES } from '../../../../src/core/slots/job-view.ts';
import { outcomeOf } from '../../../../src/core/slots/outcomes.ts';
import { evaluate } from '../../../../src/core/slots/slots.ts';
import { makeGroup } from '../placement/placement-fixtures.ts';

const RESCHEDULE = { attempts: 2, delayMs: 0, delayMaxMs: 0, onHostLost: false };

/** One elastic group, its scheduler, hosts and store: obeys what `evaluate` wants, and lets chance decide the rest. */
class ElasticModel {
  nowMs = 1_000_000;
  target = 0;
  live: LiveAllocation[] = [];
  outcomes: Outcome[] = [];
  readonly min: number;
  readonly max: number;
  readonly job: Job;
  #made = 0;

  constructor(min: number, max: number) {
    this.min = min;
    this.max = max;
    const group = makeGroup({ name: 'map', count: min, countMax: max, reschedule: RESCHEDULE });
    this.job = {
      ...{ namespace: 'default', name: 'map', type: 'batch', precedence: 50, scheduler: 'elastic' },
      ...{ labels: {}, oneOff: false, groups: { map: group } },
    };
  }

  look(isElastic = true): Evaluation {
    return evaluate({
      record: { job: this.job, version: 1, desired: 'run', submittedAtMs: 0 },
      ...{ live: this.live, outcomes: this.outcomes, versions: new Map([[1, this.job]]), rollout: null },
      hostCondition: () => ({ state: 'ready', drainDeadlineMs: null }),
      hostOf: () => undefined,
      upForMs: () => Infinity,
      matching: () => [],
      nowMs: this.nowMs,
      ...(isElastic
        ? { elasticTarget: (_group, has) => Math.max(this.target, Math.min(has, this.min)) }
        : {}),
    });
  }

  obey(evaluation: Evaluation): void {
    const stopped = evaluation.stops.map(({ allocation }) => allocation.id);
    expect(new Set(stopped).size).toBe(stopped.length);
    for (const { allocation, mode, cause } of evaluation.stops)
      this.#change(allocation.id, { desired: mode, cause });
    for (const fill of [...evaluation.fills, ...evaluation.grows]) this.#place(fill);
    for (const { allocation, report } of evaluation.releases) {
      const outcome = report === null ? null : outcomeOf(allocation, report, this.nowMs);
      if (outcome !== null) this.outcomes.push(outcome);
      this.live = this.live.filter((one) => one.allocation.id !== allocation.id);
    }
  }

  /** What is to stop does; of the others one ends by itself. */
  end(pick: number, state: 'complete' | 'failed'): void {
    this.live = this.live.map(({ allocation, report }) =>
      allocation.desired === 'run'
        ? { allocation, report }
        : { allocation, report: reportOf(allocation, 'killed') },
    );
    const running = this.live.filter(({ allocation }) => allocation.desired === 'run');
    const one = running[pick % Math.max(1, running.length)];
    if (one === undefined) return;
    this.live = this.live.map((live) =>
      live === one ? { ...live, report: reportOf(live.allocation, state) } : live,
    );
  }

  /** Another job takes the place of surplus. */
  evict(pick: number): void {
    const surplus = this.surplus;
    const victim = surplus[pick % Math.max(1, surplus.length)];
    if (victim !== undefined) this.#change(victim.id, { desired: 'evict', cause: `${CAUSES.evicted} x/y` });
  }

  get wanted(): readonly Allocation[] {
    return this.live.map(({ allocation }) => allocation).filter(({ desired }) => desired === 'run');
  }

  get surplus(): readonly Allocation[] {
    return this.wanted.filter(({ index }) => index >= this.min);
  }

  #change(id: string, part: Partial<Allocation>): void {
    this.live = this.live.map((one) =>
      one.allocation.id === id ? { ...one, allocation: { ...one.allocation, ...part } } : one,
    );
  }

  #place({ group, index, attempt, surplus }: Fill): void {
    this.#made += 1;
    const allocation: Allocation = {
      ...{ id: `a${String(this.#made)}`, host: 'h1', resources: NO_RESOURCES, gpus: [], ports: {} },
      ...{ namespace: 'default', job: 'map', jobVersion: 1, group, index, attempt, scheduler: 's' },
      ...{ desired: 'run', planId: 'p', epoch: { incarnation: 'i', counter: 0 }, createdAtMs: this.nowMs },
      precedence: surplus === true ? SURPLUS_PRECEDENCE : 50,
    };
    this.live.push({ allocation, report: reportOf(allocation, 'running') });
  }
}

function reportOf(allocation: Allocation, state: AllocationReport['state']): AllocationReport {
  const { id, host, precedence, resources, gpus, ports, namespace, job, jobVersion, group, index, attempt } =
    allocation;
  return {
    ...{ id, host, precedence, resources, gpus, ports, namespace, job, jobVersion, group, index, attempt },
    ...{ scheduler: 's', state, released: state !== 'running', reason: state, restarts: 0, tasks: {} },
  };
}

describe('slots above the minimum of an elastic group', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ do: fc.constant('target' as const), pick: fc.nat({ max: 12 }) }),
      fc.record({ do: fc.constantFrom('evict', 'fail', 'wait', 'complete'), pick: fc.nat({ max: 12 }) }),
    ),
    { maxLength: 40 },
  );

  it('I12 come and go with the target, and nothing that happens to them touches the minimum', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.nat({ max: 6 }), steps, (min, more, happens) => {
        const model = new ElasticModel(min, min + more);
        for (const { do: what, pick } of happens) {
          if (what === 'target') model.target = pick;
          if (what === 'evict') model.evict(pick);
          if (what === 'fail' || what === 'complete')
            model.end(pick, what === 'fail' ? 'failed' : 'complete');
          if (what === 'wait') {
            model.nowMs += 60_000;
            model.end(0, 'failed');
          }
          const evaluation = model.look();
          const isEnding = model.outcomes.some(({ state }) => state === 'complete');
          // What grows is above the minimum, and only beside a whole minimum and before the work comes to its end.
          for (const { index } of evaluation.grows) expect(index).toBeGreaterThanOrEqual(min);
          if (isEnding || evaluation.fills.length > 0) expect(evaluation.grows).toEqual([]);
          for (const { allocation, cause } of evaluation.stops) {
            expect(cause).toBe(CAUSES.scaledDown);
            expect(allocation.index).toBeGreaterThanOrEqual(min);
          }
          model.obey(evaluation);
          const slots = model.wanted.map(({ index }) => index);
          expect(new Set(slots).size).toBe(slots.length);
          expect(model.surplus.length).toBeLessThanOrEqual(Math.max(0, model.target - min));
          for (const { index, precedence } of model.wanted)
            expect(precedence).toBe(index < min ? 50 : SURPLUS_PRECEDENCE);
        }
      }),
    );
  });

  it('are given back when the scheduler is not elastic, and the minimum stays', () => {
    const model = new ElasticModel(2, 6);
    model.target = 6;
    model.obey(model.look());
    model.obey(model.look());
    expect(model.wanted).toHaveLength(6);
    const evaluation = model.look(false);
    expect(evaluation.stops.map(({ allocation }) => allocation.index)).toEqual([2, 3, 4, 5]);
    expect(evaluation.grows).toEqual([]);
  });

  it('stay empty for a while after one had to give way, and are filled again afterwards', () => {
    const model = new ElasticModel(1, 3);
    model.target = 3;
    model.obey(model.look());
    model.obey(model.look());
    model.evict(0);
    expect(model.look().grows).toEqual([]);
    // Its host has ended it, and it is released.
    model.live = model.live.map((one) =>
      one.allocation.desired === 'run' ? one : { ...one, report: reportOf(one.allocation, 'killed') },
    );
    model.obey(model.look());
    expect(model.look().grows).toEqual([]);
    expect(model.look().nextAtMs).not.toBeNull();
    model.nowMs += 10_000;
    expect(model.look().grows.map(({ index }) => index)).toEqual([1]);
  });
});
