import type { RestartPolicy } from '../../src/core/cell/job.ts';
import type { ExitRecord } from '../../src/wire/host-files/attempt-files.ts';

/** `atMs`: when to start again, wall clock; `doublings`: of the delay, for the next decision. */
export type RestartDecision =
  | { readonly restart: true; readonly atMs: number; readonly doublings: number }
  | { readonly restart: false; readonly why: string };

/** What is known of a task's earlier attempts. */
export interface RestartHistory {
  /** When earlier restarts were begun. */
  readonly restartsAtMs: readonly number[];
  /** Of the delay before the attempt that has ended; null when it was the first one. */
  readonly doublings: number | null;
  /** When the attempt that has ended was started; null when it never was. */
  readonly startedAtMs: number | null;
}

export function succeeded(exit: ExitRecord): boolean {
  return exit.code === 0 && exit.unhealthy === undefined;
}

/**
 * Whether a task that ended is started again on this host: counted by the host alone, so that it holds while all else is
 * away (S0.18, S0.19). The delay counts from the end, not from now: an agent that was away meanwhile adds nothing to it.
 * @param fraction drawn for this decision, from 0 up to 1: tasks that failed together do not return together
 */
export function decideRestart(
  policy: RestartPolicy,
  exit: ExitRecord,
  history: RestartHistory,
  nowMs: number,
  fraction: number,
): RestartDecision {
  if (exit.stoppedBy !== undefined) return { restart: false, why: 'its time was over' };
  if (exit.execErrno !== undefined) return { restart: false, why: 'the command cannot be run' };
  if (policy.on === 'never') return { restart: false, why: 'never restarted' };
  if (policy.on === 'failure' && succeeded(exit)) return { restart: false, why: 'done' };
  const recent = withinWindow(policy, history.restartsAtMs, nowMs).length;
  if (recent >= policy.attempts)
    return { restart: false, why: `restarted ${String(recent)} of ${String(policy.attempts)} times` };
  const doublings = doublingsOf(policy, exit, history);
  const delayMs = delayOf(policy, doublings, fraction);
  // An end in the future is a clock that was set back.
  return { restart: true, atMs: Math.min(exit.atMs, nowMs) + delayMs, doublings };
}

/** 2^30 seconds are 34 years. */
const DOUBLINGS_MAX = 30;

function doublingsOf(policy: RestartPolicy, exit: ExitRecord, history: RestartHistory): number {
  if (policy.delayMaxMs === undefined || history.doublings === null) return 0;
  const ranMs = history.startedAtMs === null ? 0 : exit.atMs - history.startedAtMs;
  // A run as long as the longest delay says that the fault is over.
  return ranMs >= policy.delayMaxMs ? 0 : Math.min(DOUBLINGS_MAX, history.doublings + 1);
}

function delayOf(policy: RestartPolicy, doublings: number, fraction: number): number {
  if (policy.delayMaxMs === undefined) return policy.delayMs;
  const ceiling = Math.min(policy.delayMaxMs, policy.delayMs * 2 ** doublings);
  return Math.round(ceiling / 2 + (fraction * ceiling) / 2);
}

/** The restarts that still count. */
export function withinWindow(
  policy: RestartPolicy,
  restartsAtMs: readonly number[],
  nowMs: number,
): number[] {
  return restartsAtMs.filter((atMs) => atMs > nowMs - policy.windowMs);
}
