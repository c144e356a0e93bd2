/** Settings with changes laid over them for a while; of several to the same field the latest holds. */
export class Overlay<T extends object> {
  readonly #base: T;
  readonly #changes = new Set<Partial<T>>();
  #now: T;

  constructor(base: T) {
    this.#base = base;
    this.#now = base;
  }

  get now(): T {
    return this.#now;
  }

  /** @returns takes the change back */
  override(change: Partial<T>): () => void {
    const own = { ...change };
    this.#changes.add(own);
    this.#merge();
    return () => {
      if (this.#changes.delete(own)) this.#merge();
    };
  }

  #merge(): void {
    this.#now = { ...this.#base };
    for (const change of this.#changes) Object.assign(this.#now, change);
  }
}
