/**
 * Decides which host each task gets. The loop is one for all kinds of scheduler; they differ in `policies/`.
 *
 * 1. `decision-loop.ts` takes one job after the other from `fair-queue.ts`, returns to the event loop after each time slice,
 *    and hands the plans to `commit/commit.ts`. A job on which deciding throws waits (`failed-decisions.ts`).
 * 2. `Decider` (this file) evaluates one job: the core says which allocations should stop, be released or be added; stops
 *    and releases begin at once, and of the missing slots at most `sliceMax` are placed in one turn of the job.
 * 3. `placer.ts` finds the hosts, with `src/core`'s index and scores, and assumes the placements in the private cell.
 *    `partition.ts` says where its searches begin, `data-places.ts` where the data of a slot lies.
 * 4. Slots that fit nowhere: `preemption/preemption.ts` may make room for them. Meanwhile `parking.ts` holds the job until
 *    capacity is freed that could fit it. When their `waitMax` ends, `unplaceable.ts` gives them an outcome that says so.
 * 5. `growth.ts` says how far an elastic group may grow; surplus is placed after everything else, and waits for nothing.
 * 6. `rollouts.ts` records how far an update is.
 * 7. `why.ts` explains to people why slots do not run; `explanations.ts` has why those that are parked have no place.
 */
import type { Group } from '../../src/core/cell/job.ts';
import type { BudgetKind } from '../../src/core/quota/budgets.ts';
import { pausedBy } from '../../src/core/quota/pauses.ts';
import { givenUpOutcome } from '../../src/core/slots/given-up.ts';
import { outcomeOf } from '../../src/core/slots/outcomes.ts';
import type { BudgetAsk, Fill, Evaluation, JobView } from '../../src/core/slots/job-view.ts';
import { evaluate } from '../../src/core/slots/slots.ts';
import type { Releaser } from '../commit/releaser.ts';
import { isAllOrNothing, isCommitting } from '../gangs/gangs.ts';
import type { Stopper } from '../hosts/stopper.ts';
import type { Asking, Budgets } from '../../src/runtime/records/budgets.ts';
import type { CellSecrets } from '../state/cell-secrets.ts';
import type { DecidedPlan } from '../state/decided-plan.ts';
import { backOffGroup } from '../state/group-backoff.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import type { SchedulerWorld, Term } from '../state/state.ts';
import { newId, wallMs } from '../state/state.ts';
import { EXPLAIN_EVERY_MS } from './explanations.ts';
import type { Parking } from './parking.ts';
import type { Placer } from './placer.ts';
import { recordRollout } from './rollouts.ts';
import { endUnplaceable, summaryOf } from './unplaceable.ts';

/** How often a secret that is not there is looked for. */
const SECRET_WAIT_MS = 2_000;

/** For what a job's slots ask. */
const ASKED_BY_SLOTS: readonly BudgetKind[] = ['replacements', 'moves', 'orphans'];

export interface Decision {
  readonly placed: number;
  /** There is more to place at once: the job goes to the end of its queue. */
  readonly more: boolean;
  readonly plans: readonly DecidedPlan[];
}

export const NOTHING: Decision = Object.freeze({ placed: 0, more: false, plans: [] });

/** What a decision writes by itself. Neither is waited for: each marks the job, and has it looked at again afterwards. */
export interface DecisionRecords {
  /** These slots have waited too long: each gets an outcome. */
  readonly unplaceable: (job: OwnedJob, fills: readonly Fill[], nowMs: number) => void;
  /** How far the update of the job is. */
  readonly rollout: (job: OwnedJob, rollout: NonNullable<Evaluation['rollout']>) => void;
}

/** Written to the store. */
export function storedRecords(term: Term): DecisionRecords {
  return {
    unplaceable: (job, fills, nowMs) => void endUnplaceable(term, job, fills, nowMs),
    rollout: (job, rollout) => void recordRollout(term, job, rollout),
  };
}

export interface DeciderParts {
  readonly placer: Placer;
  readonly stopper: Pick<Stopper, 'stop' | 'orderAll'>;
  readonly releaser: Pick<Releaser, 'release'>;
  readonly parking: Pick<Parking, 'park'>;
  readonly records: DecisionRecords;
  readonly secrets: Pick<CellSecrets, 'lacks'>;
  /** Makes room for unplaced slots of one group, if that may be done and could help. */
  readonly preempt: (job: OwnedJob, group: Group, fills: readonly Fill[], isGang: boolean) => void;
  /** Has an operator paused placement for the job? */
  readonly isPaused: (job: OwnedJob) => boolean;
  /** Does the host report now? */
  readonly isReporting: (host: string) => boolean;
  /** The cell's budgets; absent: nothing is bounded. */
  readonly budgets?: Pick<Budgets, 'has' | 'ask'>;
  /** How many instances an elastic group should have; null: the scheduler is not elastic. */
  readonly elasticTarget: JobView['elasticTarget'] | null;
  readonly finish: (job: OwnedJob, as: NonNullable<Evaluation['finished']>) => void;
}

/** Evaluates one job: begins all that should change, and places at most `sliceMax` of its slots. */
export class Decider {
  readonly #term: Term;
  readonly #parts: DeciderParts;

  constructor(term: Term, parts: DeciderParts) {
    this.#term = term;
    this.#parts = parts;
  }

  decide(job: OwnedJob): Decision {
    // While it is written that slots are unplaceable, they must not be filled; afterwards it is decided again.
    if (job.dropped || job.finishing || job.stale || job.failing) return NOTHING;
    const nowMs = wallMs(this.#term.world);
    const evaluation = this.#affordable(job, nowMs);
    job.revisit = false;
    if (evaluation.stops.length > 0) void this.#parts.stopper.stop(job, evaluation.stops);
    if (job.entries.size > 0) {
      this.#parts.stopper.orderAll(job);
      this.#release(job, evaluation, nowMs);
    }
    if (evaluation.unplaceable.length > 0)
      this.#parts.records.unplaceable(job, evaluation.unplaceable, nowMs);
    if (evaluation.rollout !== null) this.#parts.records.rollout(job, evaluation.rollout);
    if (evaluation.nextAtMs !== null) this.#term.enqueueAfter(job, evaluation.nextAtMs - nowMs);
    if (evaluation.finished !== null) {
      this.#parts.finish(job, evaluation.finished);
      return NOTHING;
    }
    const decision = this.#place(job, evaluation.fills, nowMs);
    return evaluation.grows.length === 0 ? decision : this.#grow(job, evaluation.grows, decision);
  }

  /**
   * Evaluates it, and again when there were tokens for what it asks for: which of it may go then is the evaluation's own rule, such as
   * the turns of an update. Where nothing is bounded nothing is asked for, and it is evaluated once.
   */
  #affordable(job: OwnedJob, nowMs: number): Evaluation {
    const evaluation = this.evaluationOf(job, nowMs);
    const { budgets } = this.#parts;
    if (budgets === undefined) return evaluation;
    let isMore = false;
    for (const kind of ASKED_BY_SLOTS) {
      const asks = evaluation.asks.filter((ask) => ask.kind === kind);
      // Also when there are none, which is the rule: then the job no longer waits for this kind.
      isMore = budgets.ask(kind, job.key, asks.map(askingOf)) || isMore;
    }
    return isMore ? this.evaluationOf(job, nowMs) : evaluation;
  }

  evaluationOf(job: OwnedJob, nowMs: number): Evaluation {
    const { cell, world, pauses } = this.#term;
    const { budgets, elasticTarget } = this.#parts;
    const scope = { namespace: job.namespace, job: job.name };
    const monotonicMs = world.clock.monotonicMs();
    return evaluate({
      record: job.record,
      live: [...job.entries.values(), ...job.unrecorded],
      outcomes: job.outcomes(),
      versions: job.versions,
      rollout: job.rollout,
      hostCondition: onceEach((host) => cell.condition(host)),
      hostOf: (host) => cell.state.hostOf(host),
      upForMs: ({ allocation: { id } }) => monotonicMs - (job.entries.get(id)?.upSinceMs ?? monotonicMs),
      matching: (group) => cell.matching(group),
      rolloutPause: {
        on: (host) => {
          const { version } = job.record;
          const pause = pauses.onHost('rollouts', cell.state.hostOf(host), { ...scope, version });
          return pause === null ? null : pausedBy(pause);
        },
        endedAtMs: pauses.endedAtMs('rollouts', scope),
      },
      isReporting: (host) => this.#parts.isReporting(host),
      ...(elasticTarget === null || elasticTarget === undefined ? {} : { elasticTarget }),
      isPaused: () => this.#parts.isPaused(job),
      ...(budgets === undefined ? {} : { isAffordable: (kind, allocation) => budgets.has(kind, allocation) }),
      takes: (group, host, allocation) => this.#parts.placer.takes(job, group, host, allocation),
      nowMs,
    });
  }

  #release(job: OwnedJob, evaluation: Evaluation, nowMs: number): void {
    for (const { allocation, report } of evaluation.releases) {
      const entry = job.entries.get(allocation.id);
      if (entry !== undefined && report !== null && !entry.marking)
        this.#parts.releaser.release(job, entry, outcomeOf(allocation, report, nowMs));
    }
    for (const { allocation, report, isFenced } of evaluation.givenUp) {
      const entry = job.entries.get(allocation.id);
      if (entry === undefined || entry.marking) continue;
      // Data of a volume driver may be taken from its host by force only after such a release.
      this.#parts.releaser.release(job, entry, givenUpOutcome(allocation, report, nowMs), isFenced);
    }
  }

  #place(job: OwnedJob, fills: readonly Fill[], nowMs: number): Decision {
    const byGroup = byGroupOf(fills);
    const pendingAtMs = this.#term.world.clock.monotonicMs();
    for (const [name, state] of job.groups) state.leave(byGroup.get(name)?.length ?? 0, pendingAtMs);
    const plans: DecidedPlan[] = [];
    const { sliceMax } = this.#term.options;
    let placed = 0;
    let more = false;
    for (const [name, wanted] of byGroup) {
      const group = job.record.job.groups[name];
      if (group === undefined) continue;
      const state = job.group(name);
      state.leave(wanted.length, pendingAtMs);
      const ripe = wanted.filter((fill) => fill.notBeforeMs <= nowMs);
      const due = this.#parts.placer.bind(job, group, ripe);
      if (due.length === 0 || this.#mustWait(job, group)) continue;
      if (placed >= sliceMax) {
        more = true;
        break;
      }
      const isGang = isAllOrNothing(job, group);
      // Its preemption takes up the members one by one: those still missing are no gang of their own.
      if (isGang && state.preempting !== null) {
        state.skipped = true;
        continue;
      }
      // The end of a commit under way brings another decision; and a gang waits for the last of its members' delays.
      if (isGang && (isCommitting(job, group) || due.length < wanted.length)) continue;
      const slice = isGang ? due : due.slice(0, sliceMax - placed);
      const id = newId(this.#term.world);
      const entries = this.#try(job, group, slice, id, isGang);
      if (entries.length === 0) continue;
      const atomicity = isGang ? 'all-or-nothing' : this.#term.options.atomicity;
      plans.push({ id, entries, atomicity });
      observeWait(this.#term.world, job, slice, nowMs);
      placed += entries.length;
      state.leave(state.pending - entries.length, pendingAtMs);
      if (slice.length < ripe.length && entries.length === slice.length) more = true;
    }
    return { placed, more, plans };
  }

  /** Surplus goes where something is idle, and what finds no place is not missed: it is looked for again after a while. */
  #grow(job: OwnedJob, grows: readonly Fill[], { placed, more, plans }: Decision): Decision {
    const made = [...plans];
    let left = this.#term.options.sliceMax - placed;
    for (const [name, wanted] of byGroupOf(grows)) {
      const group = job.record.job.groups[name];
      if (group === undefined || left <= 0 || this.#mustWait(job, group)) continue;
      const id = newId(this.#term.world);
      const slice = this.#parts.placer.bind(job, group, wanted.slice(0, left));
      const entries = this.#parts.placer.place(job, group, slice, id) ?? [];
      if (entries.length === 0) continue;
      made.push({ id, entries, atomicity: 'incremental' });
      left -= entries.length;
    }
    return { placed: this.#term.options.sliceMax - left, more, plans: made };
  }

  #mustWait(job: OwnedJob, group: Group): boolean {
    const state = job.group(group.name);
    if (this.#parts.isPaused(job) || state.parked) return true;
    const lacks = this.#parts.secrets.lacks(job.namespace, group.tasks);
    if (lacks !== null) backOffGroup(this.#term, job, group.name, lacks, SECRET_WAIT_MS);
    const waitMs = state.blockedUntilMs - this.#term.world.clock.monotonicMs();
    if (waitMs <= 0) return false;
    this.#term.enqueueAfter(job, waitMs);
    return true;
  }

  /** Places what fits; the rest is parked, and room may be made for it. @returns none for a gang that does not fit whole */
  #try(
    job: OwnedJob,
    group: Group,
    slice: readonly Fill[],
    planId: string,
    isGang: boolean,
  ): readonly Entry[] {
    const { cell, stats } = this.#term;
    const state = job.group(group.name);
    state.tries += 1;
    stats.decisions += 1;
    const entries = this.#parts.placer.place(job, group, slice, planId);
    if (entries === null) return [];
    if (entries.length === slice.length) {
      state.parkedSinceMs = null;
      state.explanation = null;
      return entries;
    }
    this.#park(job, group, slice, entries);
    if (!isGang) {
      this.#parts.preempt(job, group, withoutPlaced(slice, entries), false);
      return entries;
    }
    for (const entry of entries) {
      cell.state.forget(entry.allocation);
      this.#term.dropEntry(job, entry);
    }
    this.#parts.preempt(job, group, slice, true);
    return [];
  }

  /** Slots without a place wait until capacity is freed that could fit them. */
  #park(job: OwnedJob, group: Group, slice: readonly Fill[], placed: readonly Entry[]): void {
    const nowMs = this.#term.world.clock.monotonicMs();
    const state = job.group(group.name);
    const isNew = !state.parked && state.parkedSinceMs === null;
    state.parked = true;
    state.parkedSinceMs = nowMs;
    this.#parts.parking.park(job);
    if (state.explanation === null || nowMs - state.explainedAtMs >= EXPLAIN_EVERY_MS) {
      const missing = slice.find((fill) => placed.every((entry) => entry.allocation.index !== fill.index));
      state.explanation = this.#parts.placer.explainParked(job, group, missing);
      state.explainedAtMs = nowMs;
    }
    if (isNew) this.#term.emit('parked', job, `${group.name}: ${summaryOf(state.explanation)}`);
  }
}

/** How long slots that are placed now have waited for it. */
export function observeWait(
  { metrics }: Pick<SchedulerWorld, 'metrics'>,
  { record }: OwnedJob,
  [first]: readonly Fill[],
  nowMs: number,
): void {
  if (first === undefined) return;
  const waitedMs = Math.max(0, nowMs - Math.max(first.sinceMs, first.notBeforeMs));
  metrics.observe('moorage_scheduler_wait_seconds', waitedMs / 1000, { type: record.job.type });
}

/** An evaluation asks for each host of a job several times, and takes no time in which the answer could change. */
function onceEach<T>(of: (host: string) => T): (host: string) => T {
  const known = new Map<string, T>();
  return (host) => {
    const before = known.get(host);
    if (before !== undefined) return before;
    const value = of(host);
    known.set(host, value);
    return value;
  };
}

function askingOf({ allocation: { id, host, group }, most }: BudgetAsk): Asking {
  return most === undefined ? { id, host } : { id, host, within: { group, most } };
}

function byGroupOf(fills: readonly Fill[]): ReadonlyMap<string, readonly Fill[]> {
  const byGroup = new Map<string, Fill[]>();
  for (const fill of fills) {
    const list = byGroup.get(fill.group);
    if (list === undefined) byGroup.set(fill.group, [fill]);
    else list.push(fill);
  }
  return byGroup;
}

/** Slots of a system job share their index and differ by host. */
function withoutPlaced(fills: readonly Fill[], placed: readonly Entry[]): readonly Fill[] {
  const keys = new Set(
    placed.flatMap(({ allocation: { host, index } }) => [`${String(index)}@`, `${String(index)}@${host}`]),
  );
  return fills.filter(({ host = '', index }) => !keys.has(`${String(index)}@${host}`));
}
