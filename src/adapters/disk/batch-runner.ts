interface Waiting<T> {
  readonly item: T;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Group commit: joins requests for the same slow thing, a sync. All that come while one run is under way share the next run;
 * so a run covers only what was there before it began.
 */
export class BatchRunner<T> {
  readonly #run: (items: readonly T[]) => Promise<void>;
  readonly #whenIdle: () => void;
  #waiting: Waiting<T>[] = [];
  #running = false;

  /** @param whenIdle called when no request is left */
  constructor(run: (items: readonly T[]) => Promise<void>, whenIdle: () => void) {
    this.#run = run;
    this.#whenIdle = whenIdle;
  }

  /** Resolves when a run with the item is over. Items come in the order of the calls. */
  add(item: T): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      // Requests of the same turn share the first run.
      queueMicrotask(() => void this.#runAll());
    });
  }

  async #runAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#run(batch.map((one) => one.item));
        for (const one of batch) one.resolve();
      } catch (error) {
        for (const one of batch) one.reject(error);
      }
    }
    this.#running = false;
    this.#whenIdle();
  }
}
