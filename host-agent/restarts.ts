import type { RestartPolicy } from '../src/core/job.ts';
import type { ExitRecord } from '../src/wire/shim-files.ts';

export type RestartDecision =
  { readonly restart: true; readonly delayMs: number } | { readonly restart: false; readonly why: string };

export function succeeded(exit: ExitRecord): boolean {
  return exit.code === 0;
}

/**
 * Whether a task that ended is started again on this host: counted by the host alone, so that it holds while all else is
 * away (S0.18, S0.19).
 * @param restartsAtMs when earlier restarts were begun
 */
export function decideRestart(
  policy: RestartPolicy,
  exit: ExitRecord,
  restartsAtMs: readonly number[],
  nowMs: number,
): RestartDecision {
  if (exit.execErrno !== undefined) return { restart: false, why: 'the command cannot be run' };
  if (policy.on === 'never') return { restart: false, why: 'never restarted' };
  if (policy.on === 'failure' && succeeded(exit)) return { restart: false, why: 'done' };
  const recent = withinWindow(policy, restartsAtMs, nowMs).length;
  if (recent >= policy.attempts)
    return { restart: false, why: `restarted ${String(recent)} of ${String(policy.attempts)} times` };
  return { restart: true, delayMs: policy.delayMs };
}

/** The restarts that still count. */
export function withinWindow(
  policy: RestartPolicy,
  restartsAtMs: readonly number[],
  nowMs: number,
): number[] {
  return restartsAtMs.filter((atMs) => atMs > nowMs - policy.windowMs);
}
