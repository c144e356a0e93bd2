interface Waiting {
  readonly text: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Joins appends: while one is being written and synced, all that come wait for the next, and share its sync. */
export class AppendQueue {
  readonly #write: (text: string) => Promise<void>;
  #waiting: Waiting[] = [];
  #writing = false;

  constructor(write: (text: string) => Promise<void>) {
    this.#write = write;
  }

  /** Resolves when the text is durable. Texts land in the order of the calls. */
  add(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, resolve, reject });
      if (this.#writing) return;
      this.#writing = true;
      // What comes in the same turn goes into the first write, too.
      queueMicrotask(() => void this.#run());
    });
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#write(batch.map((one) => one.text).join(''));
        for (const one of batch) one.resolve();
      } catch (error) {
        for (const one of batch) one.reject(error);
      }
    }
    this.#writing = false;
  }
}
