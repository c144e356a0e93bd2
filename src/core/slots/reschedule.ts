import type { Outcome } from '../cell/allocation.ts';
import type { ReschedulePolicy } from '../cell/job.ts';

/** Doublings beyond this change nothing: every sensible `delayMaxMs` is reached long before. */
const DOUBLINGS_MAX = 20;

/**
 * How long a slot waits before its next allocation.
 * @param failures how often in a row it failed by itself; 0 waits not at all
 */
export function rescheduleDelayMs(policy: ReschedulePolicy, failures: number): number {
  if (failures <= 0) return 0;
  return Math.min(policy.delayMaxMs, policy.delayMs * 2 ** Math.min(failures - 1, DOUBLINGS_MAX));
}

/** Has the slot used up its new allocations? `attempts` counts those after the first. */
export function attemptsUsedUp(policy: ReschedulePolicy, failures: number): boolean {
  return policy.attempts !== null && failures > policy.attempts;
}

/**
 * Did the allocation fail by itself? What somebody else ended (an update, an eviction, a drain) and what a host lost is
 * no failure of the job (S0.21).
 * @param completeIsFailure true for what is meant to run for ever
 */
export function isFailure(outcome: Outcome, completeIsFailure: boolean): boolean {
  if (outcome.cause !== undefined) return false;
  if (outcome.state === 'complete') return completeIsFailure;
  return outcome.state === 'failed' || outcome.state === 'killed';
}

/**
 * Failures in a row at the end of one slot's history.
 *
 * @param history outcomes of one slot, oldest first
 * @param completeIsFailure also: a run that lasted longer than the longest delay starts the count anew, for a service
 *   that fails once a month is not failing in a row
 */
export function failuresInARow(
  history: readonly Outcome[],
  policy: ReschedulePolicy,
  completeIsFailure: boolean,
): number {
  let failures = 0;
  for (const outcome of history) {
    if (completeIsFailure && ranLonger(outcome, policy.delayMaxMs)) failures = 0;
    if (isFailure(outcome, completeIsFailure)) failures += 1;
  }
  return failures;
}

function ranLonger(outcome: Outcome, durationMs: number): boolean {
  return outcome.startedAtMs !== undefined && outcome.endedAtMs - outcome.startedAtMs > durationMs;
}
