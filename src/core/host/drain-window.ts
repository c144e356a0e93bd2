import type { DrainWindow, Eligibility } from './host.ts';

/**
 * - `begin`: the host is to be drained
 * - `end`: the host is ready again
 * - `drop`: it is over, and the host's state has another cause
 */
export type WindowStep = 'begin' | 'end' | 'drop';

/** What is to be done about the host's window now; null: nothing. A lost host is drained when it is back. */
export function windowStep({ state, window }: Eligibility, nowMs: number): WindowStep | null {
  if (window === undefined || nowMs < window.atMs) return null;
  if (window.endsAtMs !== undefined && nowMs >= window.endsAtMs)
    return state === 'draining' && window.beganAtMs !== undefined ? 'end' : 'drop';
  return state === 'draining' || state === 'lost' ? null : 'begin';
}

/** The host as it is drained by its window. @returns absent fields are none */
export function drainedBy(
  window: DrainWindow,
  nowMs: number,
): Pick<Eligibility, 'state' | 'reason' | 'by' | 'drainDeadlineMs'> & { readonly window: DrainWindow } {
  const beganAtMs = window.beganAtMs ?? nowMs;
  const { reason, by, deadlineMs } = window;
  return {
    ...{ state: 'draining', reason, by, window: { ...window, beganAtMs } },
    ...(deadlineMs === undefined ? {} : { drainDeadlineMs: beganAtMs + deadlineMs }),
  };
}

/** Has the window begun, and not ended? Whatever opens the host meanwhile opens it when that is over. */
export function isInWindow({ window }: Eligibility, nowMs: number): boolean {
  if (window === undefined || nowMs < window.atMs) return false;
  return window.endsAtMs === undefined || nowMs < window.endsAtMs;
}

/** A sentence for people: `drained from … until … by ada: new disks`. */
export function windowText({ atMs, endsAtMs, by, reason }: DrainWindow): string {
  const time = (ms: number): string => new Date(ms).toISOString().replace('.000', '');
  const until = endsAtMs === undefined ? '' : ` until ${time(endsAtMs)}`;
  return `drained from ${time(atMs)}${until} by ${by}${reason === '' ? '' : `: ${reason}`}`;
}
