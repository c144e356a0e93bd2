import type { Allocation, Outcome } from '../cell/allocation.ts';
import type { Eligibility } from '../host/host.ts';
import type { AllocationReport } from '../host/report.ts';
import { isTerminal } from '../host/states.ts';
import type { HostCondition, LiveAllocation } from './job-view.ts';
import { forgottenOutcome, outcomeOf } from './outcomes.ts';

/** How long what is to end on a lost host is kept before it is given up, if no operator says so earlier. */
export const ORPHAN_MS = 24 * 3_600_000;

/** How an allocation ended whose host was given up: there it may run on. */
export const GIVEN_UP = 'host-lost';

/**
 * When what is to end on the host is given up: its claim is released without the host's word.
 * @returns null: never, since the host is not lost
 */
export function givenUpAtMs(eligibility: Eligibility | undefined, orphanMs: number): number | null {
  if (eligibility?.state !== 'lost') return null;
  return eligibility.confirmed === undefined ? eligibility.sinceMs + orphanMs : eligibility.sinceMs;
}

/**
 * May the allocation's claim be released though its host has not said that anything ended? Only on a lost host: of what is
 * to end after the orphan time, or on an operator's word; of a removed host, everything. What an open intent holds goes
 * with the intent.
 */
export function isGivenUp({ allocation }: LiveAllocation, host: HostCondition, nowMs: number): boolean {
  if (host.state !== 'lost' || allocation.intent !== undefined || allocation.yields !== undefined)
    return false;
  if (host.isRemoved === true) return true;
  const atMs = host.givenUpAtMs ?? null;
  return allocation.desired !== 'run' && atMs !== null && nowMs >= atMs;
}

/** Its final record. An end that the host had reported stays what it was. */
export function givenUpOutcome(
  allocation: Allocation,
  report: AllocationReport | null,
  nowMs: number,
): Outcome | null {
  if (report !== null && isTerminal(report.state)) return outcomeOf(allocation, report, nowMs);
  return forgottenOutcome(allocation, GIVEN_UP, nowMs);
}
