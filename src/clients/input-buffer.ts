/** Input is kept and read in pieces of this size. */
const BLOCK_BYTES = 32 * 1024;

/** Input of a client that no shim has confirmed: kept, so that it can be sent again. Offsets count from the first byte. */
export class InputBuffer {
  readonly #bytesMax: number;
  /** One behind the other, all but the last one full. */
  readonly #blocks: Uint8Array[] = [];
  /** Offset of the first block. */
  #base = 0;
  #start = 0;
  #end = 0;
  #ended = false;
  #waiting: (() => void)[] = [];

  /** @param bytesMax held at most; a writer of more waits */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Offset after the last byte that was written. */
  get end(): number {
    return this.#end;
  }

  /** Offset of the first byte that is not confirmed. */
  get start(): number {
    return this.#start;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Copies them. Resolves when more may be written. */
  write(bytes: Uint8Array): Promise<void> {
    if (this.#ended) throw new Error('input was ended');
    for (let at = 0; at < bytes.length;) at += this.#fill(bytes.subarray(at));
    return this.#hasCapacity() ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Nothing more comes. */
  finish(): void {
    this.#ended = true;
  }

  /** At most `length` bytes from the offset, which is not before `start`; none at the end. */
  read(offset: number, length: number): Uint8Array {
    const index = Math.floor((offset - this.#base) / BLOCK_BYTES);
    const from = offset - this.#base - index * BLOCK_BYTES;
    const block = this.#blocks[index] ?? new Uint8Array(0);
    return block.subarray(from, from + Math.min(length, this.#end - offset));
  }

  /** Everything before the offset is confirmed, and freed. */
  confirm(offset: number): void {
    this.#start = Math.max(this.#start, Math.min(offset, this.#end));
    const over = Math.floor((this.#start - this.#base) / BLOCK_BYTES);
    this.#blocks.splice(0, over);
    this.#base += over * BLOCK_BYTES;
    this.#wake();
  }

  /** The input is no longer read: frees what is held, and releases waiting writers. */
  drop(): void {
    this.#ended = true;
    this.confirm(this.#end);
  }

  /** @returns how many of them went into the last block */
  #fill(bytes: Uint8Array): number {
    const at = (this.#end - this.#base) % BLOCK_BYTES;
    const isFull = this.#base + this.#blocks.length * BLOCK_BYTES === this.#end;
    if (isFull) this.#blocks.push(new Uint8Array(BLOCK_BYTES));
    const part = bytes.subarray(0, BLOCK_BYTES - at);
    this.#blocks.at(-1)?.set(part, at);
    this.#end += part.length;
    return part.length;
  }

  #hasCapacity(): boolean {
    return this.#end - this.#start <= this.#bytesMax;
  }

  #wake(): void {
    if (!this.#hasCapacity()) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
