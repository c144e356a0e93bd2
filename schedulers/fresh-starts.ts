import type { Clock } from '../src/ports/clock.ts';
import type { Entry, OwnedJob } from './owned-job.ts';

/** With so much to decide and to commit, the scheduler is busy: a decision and its commit are a few tens of microseconds. */
const BUSY_MIN = 64;
/** It is busy no longer when it was not for so long: work comes in gusts, and this bridges the gap between two. */
const QUIET_MS = 150;
/** Longest time that a start waits: a scheduler that is always busy must still start things. */
const HELD_MAX_MS = 2_000;
/** Starts let go in one step afterwards; the queue of calls to hosts bounds what really runs at once. */
const STEP_MAX = 512;
const STEP_MS = 5;

interface Held {
  readonly job: OwnedJob;
  readonly entry: Entry;
  readonly sinceMs: number;
}

/**
 * Fresh allocations on their way to their hosts. While much waits to be placed, the starts wait: each costs several times
 * what a placement does, on the same processor; and one that is durable will be started whatever happens, while one that
 * is not decided yet is nothing at all. A scheduler that keeps up starts everything at once.
 */
export class FreshStarts {
  readonly #clock: Clock;
  readonly #backlog: () => number;
  readonly #start: (job: OwnedJob, entry: Entry) => void;
  readonly #held: Held[] = [];
  /** The first of `#held` that waits still; the list is emptied as a whole. */
  #next = 0;
  #busyMs = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | null = null;

  /** @param backlog how much waits to be decided, or is decided and not yet committed */
  constructor(clock: Clock, backlog: () => number, start: (job: OwnedJob, entry: Entry) => void) {
    this.#clock = clock;
    this.#backlog = backlog;
    this.#start = start;
  }

  get waiting(): number {
    return this.#held.length - this.#next;
  }

  add(job: OwnedJob, entry: Entry): void {
    const nowMs = this.#clock.monotonicMs();
    if (!this.#isBusy(nowMs) && this.waiting === 0) {
      this.#start(job, entry);
      return;
    }
    this.#held.push({ job, entry, sinceMs: nowMs });
    this.#cancel ??= this.#clock.after(QUIET_MS, () => this.#look());
  }

  close(): void {
    this.#cancel?.();
    this.#held.length = 0;
    this.#next = 0;
  }

  #isBusy(nowMs: number): boolean {
    if (this.#backlog() >= BUSY_MIN) this.#busyMs = nowMs;
    return nowMs - this.#busyMs < QUIET_MS;
  }

  #look(): void {
    this.#cancel = null;
    const nowMs = this.#clock.monotonicMs();
    const isBusy = this.#isBusy(nowMs);
    for (let i = 0; i < STEP_MAX; i++) {
      const held = this.#held[this.#next];
      if (held === undefined || (isBusy && nowMs - held.sinceMs < HELD_MAX_MS)) break;
      this.#next += 1;
      this.#start(held.job, held.entry);
    }
    if (this.waiting > 0) this.#cancel = this.#clock.after(isBusy ? QUIET_MS : STEP_MS, () => this.#look());
    else {
      this.#held.length = 0;
      this.#next = 0;
    }
  }
}
