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
  /**
   * How long to wait for the next tick of this period, between half a period and one and a half. What a process does periodically
   * is done at the same ticks: most of what an idle process costs is that it wakes up. Absent: the period.
   */
  untilTickMs?(periodMs: number): number;
}
