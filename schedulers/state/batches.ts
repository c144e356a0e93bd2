/**
 * Requests that go out in batches: all that is asked for in one turn of the event loop goes together, and at most `max`
 * batches are under way.
 */
export class Batches {
  readonly #max: number;
  readonly #hasMore: () => boolean;
  readonly #send: () => Promise<void>;
  #underWay = 0;
  #isScheduled = false;

  /**
   * @param hasMore does anything wait?
   * @param send takes out what goes into the next batch and sends it
   */
  constructor(max: number, hasMore: () => boolean, send: () => Promise<void>) {
    this.#max = max;
    this.#hasMore = hasMore;
    this.#send = send;
  }

  /** Something waits: it goes in the next microtask, or when an earlier batch has ended. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    void Promise.resolve().then(() => {
      this.#isScheduled = false;
      while (this.#underWay < this.#max && this.#hasMore()) void this.#sendOne();
    });
  }

  async #sendOne(): Promise<void> {
    this.#underWay += 1;
    try {
      await this.#send();
    } finally {
      this.#underWay -= 1;
      if (this.#hasMore()) this.schedule();
    }
  }
}
