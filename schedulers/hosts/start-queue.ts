import type { Clock } from '../../src/ports/clock.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import { TenantLines } from '../state/namespace-queues.ts';

/** With so much to decide and to commit, the scheduler is busy: a decision and its commit are a few tens of microseconds. */
const BUSY_MIN = 64;
/** It is busy no longer when it was not for so long: work comes in gusts, and this bridges the gap between two. */
const QUIET_MS = 150;
/** A start that has waited for so long may go though the scheduler is busy: one that is always busy must still start things. */
const HELD_MAX_MS = 2_000;
/**
 * Of those, so many a look: some 850 a second, which leave most of the processor to placing. While more than that are placed
 * a second, the wait grows beyond `HELD_MAX_MS`, until the scheduler is busy no longer.
 */
const STEP_BUSY_MAX = 128;
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
 * is not decided yet is nothing at all. A scheduler that keeps up starts everything at once. Tenants take turns, so that a
 * few starts of one do not wait for thousands of another.
 */
export class FreshStarts {
  readonly #clock: Clock;
  readonly #backlog: () => number;
  readonly #start: (job: OwnedJob, entry: Entry) => void;
  readonly #lines = new TenantLines<Held>();
  #busyMs = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | null = null;

  /** @param backlog how much waits to be decided, or is decided and not yet committed */
  constructor(clock: Clock, backlog: () => number, start: (job: OwnedJob, entry: Entry) => void) {
    this.#clock = clock;
    this.#backlog = backlog;
    this.#start = start;
  }

  get waiting(): number {
    return this.#lines.length;
  }

  add(job: OwnedJob, entry: Entry): void {
    const nowMs = this.#clock.monotonicMs();
    if (!this.#isBusy(nowMs) && this.waiting === 0) {
      this.#start(job, entry);
      return;
    }
    this.#lines.push(job.namespace, { job, entry, sinceMs: nowMs });
    this.#cancel ??= this.#clock.after(QUIET_MS, () => this.#look());
  }

  close(): void {
    this.#cancel?.();
    this.#lines.clear();
  }

  #isBusy(nowMs: number): boolean {
    if (this.#backlog() >= BUSY_MIN) this.#busyMs = nowMs;
    return nowMs - this.#busyMs < QUIET_MS;
  }

  #look(): void {
    this.#cancel = null;
    const nowMs = this.#clock.monotonicMs();
    const isBusy = this.#isBusy(nowMs);
    const most = isBusy ? STEP_BUSY_MAX : STEP_MAX;
    const sinceMs = isBusy ? nowMs - HELD_MAX_MS : nowMs;
    for (let i = 0; i < most; i++) {
      const held = this.#lines.next((first) => first.sinceMs <= sinceMs);
      if (held === undefined) break;
      this.#start(held.job, held.entry);
    }
    if (this.waiting > 0) this.#cancel = this.#clock.after(isBusy ? QUIET_MS : STEP_MS, () => this.#look());
  }
}
