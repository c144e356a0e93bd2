/** Time as roles see it. Durations are measured on the monotonic reading, never on the wall clock. */
export interface Clock {
  /** Wall-clock milliseconds since 1970: for records that people and other machines read. */
  nowMs(): number;
  /** Milliseconds since some fixed instant; never goes back, fractions allowed. */
  monotonicMs(): number;
  /**
   * Calls `wake` once after `delayMs` (at least 0).
   * @returns cancels; does nothing when it has run
   */
  after(delayMs: number, wake: () => void): () => void;
}
