import { appendFileSync, renameSync, statSync } from 'node:fs';
import { constants } from 'node:os';

/** Results that are remembered: more than an agent has under way. */
const KNOWN_MAX = 64;
/** Then another file begins, and one older is kept. */
const ACKS_BYTES_MAX = 32 * 1024;

/** Each signal once, by its sequence; as `signals.c` of the native shim. */
export class Signals {
  readonly #send: (signal: number) => number;
  readonly #results = new Map<number, number>();
  #last = 0;

  /** @param send sends it. @returns the system's error number, 0 when it was sent */
  constructor(send: (signal: number) => number) {
    this.#send = send;
  }

  get last(): number {
    return this.#last;
  }

  once(sequence: number, signal: number): number {
    if (sequence <= this.#last) return this.#results.get(sequence) ?? constants.errno.ESTALE;
    this.#last = sequence;
    const result = this.#send(signal);
    this.#results.set(sequence, result);
    for (const old of this.#results.keys()) if (this.#results.size > KNOWN_MAX) this.#results.delete(old);
    try {
      if ((statSync('acks', { throwIfNoEntry: false })?.size ?? 0) > ACKS_BYTES_MAX)
        renameSync('acks', 'acks.older');
      appendFileSync('acks', `${String(sequence)} ${String(result)}\n`, { mode: 0o600 });
    } catch {
      // The disk is full; who asks over the socket still learns it.
    }
    return result;
  }
}
