/** Bytes from whoever pushes to one reader; whoever pushes waits until the last piece was taken. */
export class ByteQueue implements AsyncIterable<Uint8Array> {
  #piece: Uint8Array | null = null;
  #ended = false;
  #closed = false;
  #wake: () => void = () => undefined;

  /** Resolves when it was taken, or nobody will take it. */
  async push(bytes: Uint8Array): Promise<void> {
    if (this.#closed) return;
    this.#piece = bytes;
    this.#wake();
    while (this.#piece !== null && !this.#isClosed()) await this.#turn();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** The reader takes no more. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const piece = this.#piece;
      if (piece !== null) {
        this.#piece = null;
        this.#wake();
        yield piece;
      } else if (this.#ended) return;
      else await this.#turn();
    }
  }

  #isClosed(): boolean {
    return this.#closed;
  }

  #turn(): Promise<void> {
    const before = this.#wake;
    return new Promise((resolve) => {
      this.#wake = () => {
        before();
        resolve();
      };
    });
  }
}
