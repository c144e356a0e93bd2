import type { Owner } from '../../src/core/cell/cell.ts';
import type { Group } from '../../src/core/cell/job.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import type { CommitPipeline } from '../commit/commit.ts';
import type { Tickets } from '../commit/tickets.ts';
import type { Decider } from '../decide/decide.ts';
import { observeWait } from '../decide/decide.ts';
import { traceDecision } from '../decide/decision-loop.ts';
import type { Placer } from '../decide/placer.ts';
import type { CellSecrets } from '../state/cell-secrets.ts';
import type { DecidedPlan } from '../state/decided-plan.ts';
import { OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import { newId, undoAssumed, wallMs } from '../state/state.ts';
import type { JobAtRevision } from './job-index.ts';

/** Larger jobs gain nothing by one transaction less, and each host more may refuse it. */
const SLOTS_MAX = 16;

/** A new job that is placed by the transaction that claims it. */
export interface FirstPlacement {
  readonly record: JobAtRevision;
  /** With its placements, which are assumed; not owned before it is claimed. */
  readonly job: OwnedJob;
  /**
   * Commits it; when the transaction is refused, nothing is assumed any more.
   * @param landed called with the revision of the owner key, before anything starts
   */
  readonly commit: (landed: (ownerRevision: number) => void) => Promise<void>;
}

export interface FirstPlacementsParts {
  readonly decider: Pick<Decider, 'evaluationOf'>;
  readonly placer: Pick<Placer, 'bind' | 'place'>;
  readonly pipeline: Pick<CommitPipeline, 'runClaiming'>;
  readonly tickets: Pick<Tickets, 'mayFollow'>;
  readonly secrets: Pick<CellSecrets, 'lacks'>;
  readonly isPaused: (job: OwnedJob) => boolean;
  /** Nothing waits for a decision, a commit or a start: otherwise a transaction is better shared by many. */
  readonly isIdle: () => boolean;
  readonly self: Owner;
}

/**
 * Decides a new job before it is claimed, where the scheduler has nothing else to do, and where all of its slots have a place at once
 * and no ticket is needed before the commit. See `docs/decisions/job-ownership.md`.
 */
export class FirstPlacements {
  readonly #term: Term;
  readonly #parts: FirstPlacementsParts;

  constructor(term: Term, parts: FirstPlacementsParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /** @returns null: it is to be claimed by itself */
  of(record: JobAtRevision): FirstPlacement | null {
    const { options, world } = this.#term;
    // A think time is spent, and a policy of somebody's own may throw, on jobs that are owned.
    if (options.thinkMs !== null || options.placement.scoreHost !== undefined) return null;
    if (!this.#parts.isIdle() || record.value.version !== 1 || record.value.desired !== 'run') return null;
    const job = OwnedJob.unclaimed(record.value, record.modRevision);
    if (job.hasGangs || (options.enforcement && !this.#parts.tickets.mayFollow(job))) return null;
    const startedMs = world.clock.monotonicMs();
    const plan = this.#planOf(job);
    if (plan === null) {
      for (const entry of [...job.entries.values()]) undoAssumed(this.#term, job, entry);
      return null;
    }
    const tookMs = world.clock.monotonicMs() - startedMs;
    this.#term.stats.busyMs += tookMs;
    world.metrics.observe('moorage_scheduler_decision_seconds', tookMs / 1000);
    const traceparent = traceDecision(world, job, plan.entries.length, tookMs);
    const traced = { ...plan, ...(traceparent === undefined ? {} : { traceparent }) };
    const { pipeline, self } = this.#parts;
    const commit = (landed: (ownerRevision: number) => void): Promise<void> =>
      pipeline.runClaiming(job, traced, { by: self, landed });
    return { record, job, commit };
  }

  /** Where deciding throws it does so again when the job is owned, and is dealt with then (`decide/failed-decisions.ts`). */
  #planOf(job: OwnedJob): DecidedPlan | null {
    try {
      return this.#decided(job);
    } catch {
      return null;
    }
  }

  #decided(job: OwnedJob): DecidedPlan | null {
    const { stats, world } = this.#term;
    const nowMs = wallMs(world);
    const { fills, grows, unplaceable, finished } = this.#parts.decider.evaluationOf(job, nowMs);
    const group = job.record.job.groups[fills[0]?.group ?? ''];
    if (group === undefined || grows.length + unplaceable.length > 0 || finished !== null) return null;
    if (!this.#isDue(job, group, fills, nowMs)) return null;
    const due = this.#parts.placer.bind(job, group, fills);
    if (due.length < fills.length) return null;
    const id = newId(world);
    const entries = this.#parts.placer.place(job, group, due, id) ?? [];
    if (entries.length < fills.length) return null;
    stats.decisions += 1;
    job.group(group.name).tries += 1;
    observeWait(world, job, fills, nowMs);
    return { id, entries, atomicity: 'all-or-nothing' };
  }

  #isDue(job: OwnedJob, group: Group, fills: readonly Fill[], nowMs: number): boolean {
    const { isPaused, secrets } = this.#parts;
    if (fills.length > SLOTS_MAX || isPaused(job)) return false;
    if (secrets.lacks(job.namespace, group.tasks) !== null) return false;
    return fills.every((fill) => fill.group === group.name && fill.notBeforeMs <= nowMs);
  }
}
