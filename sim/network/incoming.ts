import type { HttpError } from '../../src/ports/http.ts';

type Next = IteratorResult<Uint8Array, undefined>;

interface Waiting {
  readonly resolve: (next: Next) => void;
  readonly reject: (error: HttpError) => void;
}

const END: Next = { done: true, value: undefined };

/** The caller's end of a stream: what arrived and was not yet read. */
export class Incoming implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array, undefined> {
  readonly #onLeave: () => void;
  #arrived: Uint8Array[] = [];
  #waiting: Waiting | null = null;
  #error: HttpError | null = null;
  #ended = false;

  /** @param onLeave the reader wants no more */
  constructor(onLeave: () => void) {
    this.#onLeave = onLeave;
  }

  arrive(chunk: Uint8Array): void {
    if (this.#ended) return;
    const waiting = this.#take();
    if (waiting === null) this.#arrived.push(chunk);
    else waiting.resolve({ done: false, value: chunk });
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#take()?.resolve(END);
  }

  /** What arrived before can still be read. */
  fail(error: HttpError): void {
    if (this.#ended) return;
    this.#ended = true;
    const waiting = this.#take();
    if (waiting === null) this.#error = error;
    else waiting.reject(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Next> {
    const chunk = this.#arrived.shift();
    if (chunk !== undefined) return Promise.resolve({ done: false, value: chunk });
    const error = this.#error;
    this.#error = null;
    if (error !== null) return Promise.reject(error);
    if (this.#ended) return Promise.resolve(END);
    return new Promise((resolve, reject) => (this.#waiting = { resolve, reject }));
  }

  return(): Promise<Next> {
    this.#arrived = [];
    this.#ended = true;
    this.#take()?.resolve(END);
    this.#onLeave();
    return Promise.resolve(END);
  }

  #take(): Waiting | null {
    const waiting = this.#waiting;
    this.#waiting = null;
    return waiting;
  }
}
