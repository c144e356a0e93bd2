const SAMPLES_MAX = 512;

export class SchedulerStats {
  decisions = 0;
  committed = 0;
  rebased = 0;
  conflicted = 0;
  ticketsRefused = 0;
  startsRefused = 0;
  busyMs = 0;
  readonly #commitMs: number[] = [];
  #next = 0;

  addCommit(durationMs: number): void {
    this.#commitMs[this.#next % SAMPLES_MAX] = durationMs;
    this.#next += 1;
  }

  /** @param part 0.5 for the median; null before the first commit */
  commitMs(part: number): number | null {
    if (this.#commitMs.length === 0) return null;
    const sorted = [...this.#commitMs].sort((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? null;
  }
}
