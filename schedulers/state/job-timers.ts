import type { Clock } from '../../src/ports/clock.ts';
import type { JobBook } from './job-table.ts';
import type { OwnedJob } from './owned-job.ts';

/** From `setTimeout`: a timer cannot wait longer, and a look too early does no harm. */
export const LOOK_AHEAD_MAX_MS = 3_600_000;

/** When the jobs that we own are looked at again: now, when a time has come, or when what they depend on has changed. */
export class JobLooks {
  readonly #clock: Clock;
  readonly #book: JobBook;
  readonly #push: (job: OwnedJob) => void;

  /** @param push the job's turn to be decided on will come */
  constructor(clock: Clock, book: JobBook, push: (job: OwnedJob) => void) {
    this.#clock = clock;
    this.#book = book;
    this.#push = push;
  }

  /** A job that is being read anew is looked at after that. */
  now(job: OwnedJob): void {
    if (job.dropped || job.stale) return;
    this.#push(job);
  }

  /** Unless an earlier look is waited for already. */
  after(job: OwnedJob, delayMs: number): void {
    // Whole milliseconds, and at least one: a timer that fires a fraction early must not be set again for that fraction.
    const waitMs = Math.min(LOOK_AHEAD_MAX_MS, Math.max(1, Math.ceil(delayMs)));
    const atMs = this.#clock.monotonicMs() + waitMs;
    if (job.dropped || atMs >= job.lookAtMs) return;
    job.cancelTimer();
    job.lookAtMs = atMs;
    job.cancelTimer = this.#clock.after(waitMs, () => {
      job.lookAtMs = Number.POSITIVE_INFINITY;
      this.now(job);
    });
  }

  all(): void {
    for (const job of this.#book.jobs()) this.now(job);
  }

  /** Jobs that have one allocation on every matching host: the hosts are others now. */
  systemJobs(): void {
    for (const job of this.#book.systemJobs()) this.now(job);
  }

  /** What is said of the host has changed: jobs that have something there, and those that may now want to. */
  onHost(host: string): void {
    for (const { job, entry } of this.#book.entries()) if (entry.allocation.host === host) this.now(job);
    this.systemJobs();
  }
}
