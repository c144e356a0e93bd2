import type { SchedulerStatus } from '../../src/wire/api/scheduler-api.ts';

/** Some minutes at a sample every two seconds. */
export const SAMPLES_MAX = 180;

/** What a scheduler did between two looks at it. */
export interface SchedulerSample {
  readonly atMs: number;
  readonly busy: number;
  /** Of its claims in this time, 0 to 1. */
  readonly conflicts: number;
  /** A second. */
  readonly rebases: number;
}

/** Of one scheduler: the last look at it, and what lies before. */
export interface SchedulerHistory {
  readonly atMs: number;
  readonly status: SchedulerStatus;
  readonly samples: readonly SchedulerSample[];
}

/** Counters that fall are those of a scheduler that began anew. */
export function looked(
  history: SchedulerHistory | undefined,
  status: SchedulerStatus,
  atMs: number,
): SchedulerHistory {
  const before = history?.status;
  if (history === undefined || before === undefined || before.decisions > status.decisions)
    return { atMs, status, samples: [] };
  const claims = claimsOf(status) - claimsOf(before);
  const conflicts = claims <= 0 ? 0 : (status.conflicted - before.conflicted) / claims;
  const rebases = ((status.rebased - before.rebased) * 1000) / Math.max(1, atMs - history.atMs);
  const sample = { atMs, busy: status.busyFraction, conflicts, rebases };
  return { atMs, status, samples: [...history.samples, sample].slice(-SAMPLES_MAX) };
}

function claimsOf({ committed, rebased, conflicted }: SchedulerStatus): number {
  return committed + rebased + conflicted;
}

/** The points of a line in a box, the newest at the right edge. `top` is what the upper edge means. */
export function linePoints(
  values: readonly number[],
  { width, height, top }: { readonly width: number; readonly height: number; readonly top: number },
): string {
  const step = width / (SAMPLES_MAX - 1);
  return values
    .map((value, at) => {
      const x = width - (values.length - 1 - at) * step;
      // A line at an edge is seen whole.
      const y = height - 1 - (top <= 0 ? 0 : Math.min(1, value / top)) * (height - 2);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    })
    .join(' ');
}
