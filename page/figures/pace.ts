/** The pause between two loads, as a multiple of what one takes: large cells are asked less often. */
const PAUSE_FACTOR = 8;
const PAUSE_MIN_MS = 1_000;
const PAUSE_MAX_MS = 30_000;

/** When something is loaded again. */
export class Pace {
  readonly #everyMs: number;
  #endedAtMs = 0;
  #restMs = 0;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  loaded(startedAtMs: number, endedAtMs: number): void {
    this.#endedAtMs = endedAtMs;
    this.#restMs = Math.min(PAUSE_MAX_MS, Math.max(PAUSE_MIN_MS, (endedAtMs - startedAtMs) * PAUSE_FACTOR));
  }

  /** By itself. */
  get dueAtMs(): number {
    return this.#endedAtMs + Math.max(this.#restMs, this.#everyMs);
  }

  /** Because something happened, however much does: what goes on happening does not put it off. */
  get soonAtMs(): number {
    return this.#endedAtMs + this.#restMs;
  }
}
