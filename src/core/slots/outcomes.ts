import type { Allocation, Outcome } from '../cell/allocation.ts';
import type { Job, ReschedulePolicy } from '../cell/job.ts';
import type { AllocationReport } from '../host/report.ts';
import { isFailure } from './reschedule.ts';
import { CAUSES } from './job-view.ts';
import type { Fill } from './job-view.ts';

/** Outcomes kept for each slot by default: enough to see a pattern. */
export const OUTCOMES_PER_SLOT_MAX = 5;

/** Without a limit of attempts only the delay depends on the history: ten doublings reach any sensible bound. */
const DELAY_HISTORY_MAX = 10;

/**
 * The final record of an allocation that its host has released.
 * @returns null: none is kept, since the host never started it, or the slot was scaled down
 */
export function outcomeOf(allocation: Allocation, report: AllocationReport, nowMs: number): Outcome | null {
  if (report.state === 'rejected' || allocation.desired === 'remove') return null;
  return {
    ...endOf(allocation, report.reason),
    state: report.state,
    ...(report.exit === undefined ? {} : { exit: report.exit }),
    ...(report.startedAtMs === undefined ? {} : { startedAtMs: report.startedAtMs }),
    // A host's clock that is ahead must not delay the next attempt.
    endedAtMs: Math.min(report.endedAtMs ?? nowMs, nowMs),
    restarts: report.restarts,
  };
}

/** The final record of an allocation that its host does not know. */
export function forgottenOutcome(allocation: Allocation, reason: string, nowMs: number): Outcome | null {
  if (allocation.desired === 'remove') return null;
  return {
    ...endOf(allocation, reason),
    state: allocation.desired === 'run' ? 'lost' : 'killed',
    exit: { lost: reason },
    endedAtMs: nowMs,
    restarts: 0,
  };
}

/** The final record of a slot that found no place in time: no host, and an id that no allocation had (I24). */
export function unplaceableOutcome(
  job: Job,
  version: number,
  fill: Fill,
  end: { readonly id: string; readonly scheduler: string; readonly why: string; readonly nowMs: number },
): Outcome {
  return {
    allocation: end.id,
    namespace: job.namespace,
    job: job.name,
    jobVersion: version,
    group: fill.group,
    index: fill.index,
    attempt: fill.attempt,
    host: '',
    scheduler: end.scheduler,
    state: 'failed',
    reason: `${CAUSES.unplaceable}: ${end.why}`,
    cause: CAUSES.unplaceable,
    endedAtMs: end.nowMs,
    restarts: 0,
  };
}

/** @param reason unless a scheduler ended the allocation */
function endOf(allocation: Allocation, reason: string) {
  const { id, namespace, job, jobVersion, group, index, attempt, host, scheduler, desired } = allocation;
  const slot = { allocation: id, namespace, job, jobVersion, group, index, attempt, host, scheduler };
  if (desired === 'run') return { ...slot, reason };
  const cause = allocation.cause ?? desired;
  return { ...slot, reason: cause, cause };
}

/**
 * The outcomes of one slot that may be deleted. A completion stays, and what the reschedule policy counts: the newest
 * `attempts + 1` outcomes, and apart from them the newest `attempts + 1` failures, since evictions must not push a failure
 * out of the count (S1.20, I22).
 *
 * @param history oldest first
 * @param perSlot how many to keep; null: all
 */
export function surplusOutcomes(
  history: readonly Outcome[],
  policy: ReschedulePolicy,
  perSlot: number | null,
): readonly Outcome[] {
  if (perSlot === null) return [];
  const needed = policy.attempts === null ? DELAY_HISTORY_MAX : policy.attempts + 1;
  const keep = Math.max(perSlot, needed);
  if (history.length <= keep) return [];
  const failures = new Set(history.filter((outcome) => isFailure(outcome, true)).slice(-needed));
  return history
    .slice(0, history.length - keep)
    .filter((outcome) => outcome.state !== 'complete' && !failures.has(outcome));
}
