/** When this host was last surely in contact with its cell. Only a restart of the agent makes it forget. */
export class CellContact {
  #atMs: number | null = null;

  /** By the monotonic clock; null: not since the agent was started, so how long ago is not known. */
  get atMs(): number | null {
    return this.#atMs;
  }

  note(atMs: number): void {
    this.#atMs = Math.max(this.#atMs ?? 0, atMs);
  }

  /** What is left of `ms` since then, in ms, 0 when all is over; null: that is not known. */
  leftOf(ms: number, nowMs: number): number | null {
    return this.#atMs === null ? null : Math.max(0, Math.ceil(this.#atMs + ms - nowMs));
  }
}
