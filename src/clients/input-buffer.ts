/** What of a client's input no shim has taken yet: kept, so that it can be sent again. Offsets count from the first byte. */
export class InputBuffer {
  readonly #bytesMax: number;
  readonly #chunks: { readonly offset: number; readonly bytes: Uint8Array }[] = [];
  #start = 0;
  #end = 0;
  #ended = false;
  #room: (() => void)[] = [];

  /** @param bytesMax held at most; whoever writes more waits */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Offset after the last byte that was written. */
  get end(): number {
    return this.#end;
  }

  /** Offset of the first byte that is not known to be taken. */
  get start(): number {
    return this.#start;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Resolves when there is room for more. */
  write(bytes: Uint8Array): Promise<void> {
    if (this.#ended) throw new Error('input was ended');
    if (bytes.length > 0) this.#chunks.push({ offset: this.#end, bytes });
    this.#end += bytes.length;
    return this.#hasRoom() ? Promise.resolve() : new Promise((resolve) => this.#room.push(resolve));
  }

  /** Nothing more comes. */
  finish(): void {
    this.#ended = true;
  }

  /** At most `length` bytes from the offset; none at the end. */
  read(offset: number, length: number): Uint8Array {
    const chunk = this.#chunks.findLast((one) => one.offset <= offset);
    if (chunk === undefined) return new Uint8Array(0);
    const from = offset - chunk.offset;
    return chunk.bytes.subarray(from, from + length);
  }

  /** Everything before the offset is taken, and let go. */
  taken(offset: number): void {
    this.#start = Math.max(this.#start, Math.min(offset, this.#end));
    for (let first = this.#chunks[0]; first !== undefined; first = this.#chunks[0]) {
      if (first.offset + first.bytes.length > this.#start) break;
      this.#chunks.shift();
    }
    this.#wake();
  }

  /** Nobody reads any more: what waits is let go, and so is who waits. */
  drop(): void {
    this.#ended = true;
    this.#start = this.#end;
    this.#chunks.length = 0;
    this.#wake();
  }

  #hasRoom(): boolean {
    return this.#end - this.#start <= this.#bytesMax;
  }

  #wake(): void {
    if (!this.#hasRoom()) return;
    for (const resolve of this.#room.splice(0)) resolve();
  }
}
