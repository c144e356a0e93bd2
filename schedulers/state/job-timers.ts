import type { Clock } from '../../src/ports/clock.ts';
import type { JobTable } from './job-table.ts';
import type { OwnedJob } from './owned-job.ts';

/** From `setTimeout`: a timer cannot wait longer, and a decision too early does no harm. */
export const TIMER_MAX_MS = 3_600_000;

/** When owned jobs are decided on again: at once, at a time, or when what they depend on has changed. */
export class JobTimers {
  readonly #clock: Clock;
  readonly #table: JobTable;
  readonly #push: (job: OwnedJob) => void;

  /** @param push puts the job into the decision queue */
  constructor(clock: Clock, table: JobTable, push: (job: OwnedJob) => void) {
    this.#clock = clock;
    this.#table = table;
    this.#push = push;
  }

  /** A stale job is enqueued when it was read again. */
  enqueue(job: OwnedJob): void {
    if (job.dropped || job.stale) return;
    this.#push(job);
  }

  /** Unless an earlier timer of the job runs already. */
  enqueueAfter(job: OwnedJob, delayMs: number): void {
    // Whole milliseconds, and at least one: a timer that fires a fraction early must not be set again for that fraction.
    const waitMs = Math.min(TIMER_MAX_MS, Math.max(1, Math.ceil(delayMs)));
    const atMs = this.#clock.monotonicMs() + waitMs;
    if (job.dropped || atMs >= job.dueAtMs) return;
    job.cancelTimer();
    job.dueAtMs = atMs;
    job.cancelTimer = this.#clock.after(waitMs, () => {
      job.dueAtMs = Number.POSITIVE_INFINITY;
      this.enqueue(job);
    });
  }

  enqueueAll(): void {
    for (const job of this.#table.jobs()) this.enqueue(job);
  }

  /** A host joined, left or changed: system jobs have one allocation on every matching host. */
  enqueueSystemJobs(): void {
    for (const job of this.#table.systemJobs()) this.enqueue(job);
  }

  /** The host's condition changed: jobs with an allocation there, and those that may now want one. */
  hostChanged(host: string): void {
    for (const { job } of this.#table.entriesOn(host)) this.enqueue(job);
    this.enqueueSystemJobs();
  }
}
