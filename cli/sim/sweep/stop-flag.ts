/** Stops threads that compute without reading their messages: they end with what they have. */
export class StopFlag {
  readonly shared: SharedArrayBuffer;
  readonly #word: Int32Array;

  /** @param shared that of a flag in another thread; absent: a flag of its own, not raised */
  constructor(shared: SharedArrayBuffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.shared = shared;
    this.#word = new Int32Array(shared);
  }

  get isRaised(): boolean {
    return Atomics.load(this.#word, 0) !== 0;
  }

  raise(): void {
    Atomics.store(this.#word, 0, 1);
  }
}
