import { constants } from 'node:os';
import type { Writable } from 'node:stream';

const WAITING_BYTES_MAX = 256 * 1024;
const { EPIPE, ERANGE } = constants.errno;

/** Stdin by offset; as `input.c` of the native shim. */
export class Stdin {
  readonly #pipe: Writable | null;
  #next = 0;
  #ended = false;
  #broken = false;

  /** @param pipe null: the task reads from nothing */
  constructor(pipe: Writable | null) {
    this.#pipe = pipe;
    pipe?.on('error', () => (this.#broken = true));
    pipe?.on('close', () => (this.#broken = true));
  }

  /** Offset from which bytes are taken. */
  get next(): number {
    return this.#next;
  }

  get open(): boolean {
    return this.#pipe !== null && !this.#ended && !this.#broken;
  }

  /** @returns an error number; 0 also when only a part, or nothing, was taken */
  take(offset: number, bytes: Uint8Array): number {
    if (!this.open || this.#pipe === null) return EPIPE;
    if (offset > this.#next) return ERANGE;
    const room = Math.max(0, WAITING_BYTES_MAX - this.#pipe.writableLength);
    const from = this.#next - offset;
    const fresh = bytes.subarray(from, from + room);
    this.#next += fresh.length;
    if (fresh.length > 0) this.#pipe.write(fresh);
    return 0;
  }

  end(offset: number): number {
    if (offset > this.#next) return ERANGE;
    if (this.#ended) return 0;
    if (this.#broken || this.#pipe === null) return EPIPE;
    this.#ended = true;
    this.#pipe.end();
    return 0;
  }
}
