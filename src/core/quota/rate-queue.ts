/**
 * Hands an amount per second out, first come first served: each part has the moment from which it may be used. The generic cell
 * rate algorithm (ITU-T I.371) as a virtual queue: in any time no more than the rate times that time begins to be used, beside the
 * part that begins it.
 */
export class RateQueue {
  /** When the next part may be used. */
  #freeAtMs: number;

  /** @param sinceMs nothing is used before it */
  constructor(sinceMs: number) {
    this.#freeAtMs = sinceMs;
  }

  /** From when a part could be used that is asked for now. */
  nextMs(nowMs: number): number {
    return Math.max(nowMs, this.#freeAtMs);
  }

  /** @returns from when this part may be used */
  take(amount: number, perSecond: number, nowMs: number): number {
    const atMs = this.nextMs(nowMs);
    this.#freeAtMs = atMs + (amount * 1_000) / perSecond;
    return atMs;
  }
}
