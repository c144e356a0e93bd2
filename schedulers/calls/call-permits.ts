/** Hosts answer within milliseconds: a call that takes longer is late, and no longer holds up others. Its answer still counts. */
export const LATE_MS = 200;

export interface OpenCall {
  /** Monotonic. */
  readonly startedMs: number;
}

/** A bound on concurrent calls: each holds a permit, which expires. Times are monotonic. */
export class CallPermits {
  readonly #max: number;
  readonly #heldMs: number;
  /** In the order in which they were sent. */
  readonly #calls = new Set<OpenCall>();

  /** @param heldMs after which a permit expires */
  constructor(max: number, heldMs: number) {
    this.#max = max;
    this.#heldMs = heldMs;
  }

  isFree(nowMs: number): boolean {
    for (const call of this.#calls) {
      if (nowMs - call.startedMs < this.#heldMs) break;
      this.#calls.delete(call);
    }
    return this.#calls.size < this.#max;
  }

  /** In how long the oldest permit expires, unless its call ends before; 0 while one is free. */
  freeInMs(nowMs: number): number {
    const [first] = this.#calls;
    return this.isFree(nowMs) || first === undefined ? 0 : first.startedMs + this.#heldMs - nowMs;
  }

  acquire(call: OpenCall): void {
    this.#calls.add(call);
  }

  release(call: OpenCall): void {
    this.#calls.delete(call);
  }
}
