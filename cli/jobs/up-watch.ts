import { isUp as isReady } from '../../src/core/slots/rollout.ts';
import type { AllocationStatus, JobSummary } from '../../src/wire/api/monitor-api.ts';

/** What one look at a service showed. */
export interface Upkeep {
  /** Since when all of it runs without an end; null: not all of it does. */
  readonly upMs: number | null;
  /** Starts after an end since the first look. */
  readonly restarts: number;
}

/** Whether a service stays up: an allocation counts as running also while its task waits to be started again. */
export class UpWatch {
  #restartsFirst: number | null = null;
  #restarts = 0;
  #sinceMs: number | null = null;

  look(summary: JobSummary, allocations: readonly AllocationStatus[], nowMs: number): Upkeep {
    const { count } = summary.restarts;
    // An update begins to count anew.
    if (this.#restartsFirst === null || count < this.#restartsFirst) this.#restartsFirst = count;
    if (!isUp(summary, allocations) || count !== this.#restarts) this.#sinceMs = null;
    this.#restarts = count;
    if (isUp(summary, allocations)) this.#sinceMs ??= nowMs;
    return {
      upMs: this.#sinceMs === null ? null : nowMs - this.#sinceMs,
      restarts: count - this.#restartsFirst,
    };
  }
}

function isUp({ counts, restarts }: JobSummary, allocations: readonly AllocationStatus[]): boolean {
  if (counts.desired === 0 || restarts.waiting > 0) return false;
  const up = allocations.filter(
    ({ allocation, report }) => allocation.desired === 'run' && report !== null && isReady(report),
  );
  return up.length >= counts.desired;
}
