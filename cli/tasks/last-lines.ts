/** Of lines longer than this all together, the first part is cut off. */
const BYTES_MAX = 16 * 1024 * 1024;
const NEWLINE = 10;

/** Keeps the last lines of what is pushed; one without an end counts as one. */
export class LastLines {
  readonly #lines: number;
  #kept: Buffer = Buffer.alloc(0);

  constructor(lines: number) {
    this.#lines = lines;
  }

  push(chunk: Uint8Array): void {
    this.#kept = this.#cut(Buffer.concat([this.#kept, chunk]));
  }

  get bytes(): Uint8Array {
    return this.#kept;
  }

  #cut(bytes: Buffer): Buffer {
    if (this.#lines === 0) return bytes.subarray(bytes.length);
    let from = bytes.length;
    // The end of the last line begins no further one.
    if (bytes.at(-1) === NEWLINE) from -= 1;
    for (let lines = 0; lines < this.#lines; lines++) {
      const end = from === 0 ? -1 : bytes.lastIndexOf(NEWLINE, from - 1);
      if (end < 0) return bytes.subarray(Math.max(0, bytes.length - BYTES_MAX));
      from = end;
    }
    return bytes.subarray(Math.max(from + 1, bytes.length - BYTES_MAX));
  }
}
