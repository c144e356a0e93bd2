/** Hosts answer within milliseconds: one that takes longer does not hold up the others, though its answer still counts. */
export const LATE_MS = 200;

/** A call that was sent. */
export interface OpenCall {
  /** Monotonic. */
  readonly startedMs: number;
}

/** How many calls may be open at once. Times are monotonic. */
export class CallPlaces {
  readonly #max: number;
  readonly #heldMs: number;
  /** In the order in which they were sent. */
  readonly #calls = new Set<OpenCall>();

  /** @param heldMs how long a call holds its place at most */
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

  /** In how long the first of them has held its place for long enough, unless it ends before; 0 while one is free. */
  freeInMs(nowMs: number): number {
    const [first] = this.#calls;
    return this.isFree(nowMs) || first === undefined ? 0 : first.startedMs + this.#heldMs - nowMs;
  }

  take(call: OpenCall): void {
    this.#calls.add(call);
  }

  leave(call: OpenCall): void {
    this.#calls.delete(call);
  }
}
