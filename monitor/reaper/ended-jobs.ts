/**
 * Which ended jobs are past the number that is kept, found as the reaper goes through all jobs: what one pass counted holds
 * for the next one.
 */
export class EndedJobs {
  readonly #kept: number;
  #endedMs: number[] = [];
  #oldestKeptMs = Number.NEGATIVE_INFINITY;
  #counted = 0;

  /** @param kept how many of the newest stay */
  constructor(kept: number) {
    this.#kept = kept;
  }

  /** How many there were in the last pass. */
  get counted(): number {
    return this.#counted;
  }

  saw(endedMs: number): void {
    this.#endedMs.push(endedMs);
  }

  /** The pass is over. */
  count(): void {
    this.#counted = this.#endedMs.length;
    const newestFirst = this.#endedMs.sort((a, b) => b - a);
    const isMore = newestFirst.length > this.#kept;
    this.#oldestKeptMs = !isMore
      ? Number.NEGATIVE_INFINITY
      : this.#kept === 0
        ? Number.POSITIVE_INFINITY
        : (newestFirst[this.#kept - 1] ?? Number.NEGATIVE_INFINITY);
    this.#endedMs = [];
  }

  /** Did more than are kept end later? */
  isSurplus(endedMs: number): boolean {
    return endedMs < this.#oldestKeptMs;
  }
}
