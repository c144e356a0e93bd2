import type { Outcome } from '../cell/allocation.ts';
import type { ReschedulePolicy } from '../cell/job.ts';

/** Every sensible `delayMaxMs` is reached with fewer doublings. */
const DOUBLINGS_MAX = 20;

/**
 * How long a slot waits before its next allocation.
 * @param failures how often in a row it failed by itself; 0: no delay
 */
export function rescheduleDelayMs(policy: ReschedulePolicy, failures: number): number {
  if (failures <= 0) return 0;
  return Math.min(policy.delayMaxMs, policy.delayMs * 2 ** Math.min(failures - 1, DOUBLINGS_MAX));
}

/** Are the slot's attempts used up? `attempts` counts those after the first. */
export function attemptsUsedUp(policy: ReschedulePolicy, failures: number): boolean {
  return policy.attempts !== null && failures > policy.attempts;
}

/**
 * Did the allocation fail by itself? One that a scheduler ended (an update, an eviction, a drain) or a host lost is no
 * failure of the job (S0.21).
 * @param completeIsFailure true for services
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
 * @param completeIsFailure true for services; then a run that lasted longer than the longest delay resets the count, since
 *   a service that fails once a month does not fail in a row
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
