import type { Clock } from '../../src/ports/clock.ts';
import { CallPermits, LATE_MS } from '../calls/call-permits.ts';
import { NamespaceQueues } from '../state/namespace-queues.ts';

/** It is busy until it was idle for so long: work comes in bursts, and this bridges the gap between two. */
const QUIET_MS = 150;
/** A start that has waited for so long may go though the scheduler is busy. */
const HELD_MAX_MS = 2_000;
/**
 * So many of those are under way at once, each for `LATE_MS` at most: several hundred a second where hosts answer at once, 80
 * where they answer late, as when they share their processors with the scheduler. While more than that are placed a second,
 * the wait grows beyond `HELD_MAX_MS`, until the scheduler is idle.
 */
const UNDER_WAY_BUSY_MAX = 16;
const STEP_BUSY_MS = 25;
/**
 * Starts under way at once when it is idle, each for so long at most; `calls/calls.ts` bounds the calls that really run at once. A start has a
 * ticket, which expires: of 100,000 at once most tickets would expire before their call is made, and be granted again and again.
 */
const UNDER_WAY = { max: 2_048, heldMs: 2_000 };
/** As many calls as a host that answers is sent at once (`calls/host-queue.ts`). */
const TOGETHER_MAX = 16;
/** Of these, in one step. */
const STEP_MAX = 512;
const STEP_MS = 5;

/** @returns where it is a promise, it resolves when the start is over, successful or not */
type Start = () => unknown;

/** Starts that wait, of one namespace on one host: they go together, over one connection. */
interface Held {
  /** Its namespace and host; null: it is about no single host. */
  readonly key: string | null;
  readonly starts: Start[];
  /** Of the first of them. */
  readonly sinceMs: number;
}

/**
 * Committed allocations whose start waits while much is to be placed: a start costs several times what a placement does, on
 * the same processor. Waiting is safe: a committed allocation without a task is also what a crash between commit and start
 * leaves, and its owner or a successor starts or releases it. Victims wait here too, for the decision of their own job that
 * orders them to stop: none of them is in the way before the start that it makes room for. Other stops, removals and the
 * verification of what a dead scheduler left do not. A scheduler that keeps up starts everything at once, up to a bound. Namespaces take
 * turns, so that a few starts of one do not wait for thousands of another; what waits for one host goes together.
 */
export class StartQueue {
  readonly #clock: Clock;
  readonly #backlog: () => number;
  readonly #busyBacklog: number;
  readonly #queues = new NamespaceQueues<Held>();
  /** Those of them that take more, by namespace and host. */
  readonly #open = new Map<string, Held>();
  #waiting = 0;
  /** Of starts let go while the scheduler was busy. */
  readonly #whileBusy = new CallPermits(UNDER_WAY_BUSY_MAX, LATE_MS);
  readonly #whileIdle = new CallPermits(UNDER_WAY.max, UNDER_WAY.heldMs);
  #busyMs = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | null = null;

  /**
   * @param backlog placements and jobs that wait for a decision or a commit
   * @param busyBacklog with so many of them the scheduler is busy
   */
  constructor(clock: Clock, backlog: () => number, busyBacklog: number) {
    this.#clock = clock;
    this.#backlog = backlog;
    this.#busyBacklog = busyBacklog;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** One that is added now waits. */
  get isHolding(): boolean {
    const nowMs = this.#clock.monotonicMs();
    return this.#isBusy(nowMs) || this.waiting > 0 || !this.#whileIdle.isFree(nowMs);
  }

  /**
   * @param host where it is to start; null: it is about no single host
   * @param start called once, at once or later, unless the queue is closed before
   */
  add(namespace: string, host: string | null, start: Start): void {
    const nowMs = this.#clock.monotonicMs();
    if (!this.isHolding) {
      this.#go(start, this.#whileIdle, nowMs);
      return;
    }
    this.#hold(namespace, host, start, nowMs);
    this.#cancel ??= this.#clock.after(QUIET_MS, () => this.#step());
  }

  close(): void {
    this.#cancel?.();
    this.#queues.clear();
    this.#open.clear();
    this.#waiting = 0;
  }

  #hold(namespace: string, host: string | null, start: Start, nowMs: number): void {
    this.#waiting += 1;
    const key = host === null ? null : keyOf(namespace, host);
    const open = key === null ? undefined : this.#open.get(key);
    if (open !== undefined && open.starts.length < TOGETHER_MAX) {
      open.starts.push(start);
      return;
    }
    const held = { key, starts: [start], sinceMs: nowMs };
    if (key !== null) this.#open.set(key, held);
    this.#queues.push(namespace, held);
  }

  #next(mayGo?: (first: Held) => boolean): readonly Start[] {
    const held = this.#queues.next(mayGo);
    if (held === undefined) return [];
    if (held.key !== null && this.#open.get(held.key) === held) this.#open.delete(held.key);
    this.#waiting -= held.starts.length;
    return held.starts;
  }

  #isBusy(nowMs: number): boolean {
    if (this.#backlog() >= this.#busyBacklog) this.#busyMs = nowMs;
    return nowMs - this.#busyMs < QUIET_MS;
  }

  #step(): void {
    this.#cancel = null;
    const nowMs = this.#clock.monotonicMs();
    const isBusy = this.#isBusy(nowMs);
    if (isBusy) this.#letGoWhileBusy(nowMs);
    else this.#letGo(nowMs);
    if (this.waiting > 0)
      this.#cancel = this.#clock.after(isBusy ? STEP_BUSY_MS : STEP_MS, () => this.#step());
  }

  #letGo(nowMs: number): void {
    for (let gone = 0; gone < STEP_MAX && this.#whileIdle.isFree(nowMs);) {
      const starts = this.#next();
      if (starts.length === 0) return;
      for (const start of starts) this.#go(start, this.#whileIdle, nowMs);
      gone += starts.length;
    }
  }

  #letGoWhileBusy(nowMs: number): void {
    while (this.#whileBusy.isFree(nowMs)) {
      const starts = this.#next((first) => first.sinceMs <= nowMs - HELD_MAX_MS);
      if (starts.length === 0) return;
      for (const start of starts) this.#go(start, this.#whileBusy, nowMs);
    }
  }

  #go(start: Start, permits: CallPermits, nowMs: number): void {
    const call = { startedMs: nowMs };
    permits.acquire(call);
    void Promise.resolve(start()).then(() => permits.release(call));
  }
}

function keyOf(namespace: string, host: string): string {
  return `${namespace}/${host}`;
}
