/**
 * Streams of messages. `stream.ts`: one source for many readers. `ndjson.ts`: messages as lines of JSON.
 */
import { onAbort } from '../../ports/on-abort.ts';

/**
 * A reader has a bounded queue. One that falls behind by more than the bound is ended, and must come back and say from
 * where: a slow reader costs bounded memory, and knows that it missed something. (Node's `events.on` has no bound that ends
 * one reader alone.)
 */
export class Broadcast<T> {
  readonly #queueMax: number;
  readonly #readers = new Set<Reader<T>>();

  constructor(queueMax: number) {
    this.#queueMax = queueMax;
  }

  get readers(): number {
    return this.#readers.size;
  }

  send(item: T): void {
    for (const reader of this.#readers) reader.push(item);
  }

  /** Everything sent from now on, after `first`. Ends when the signal is aborted, on overflow, or on `close`. */
  subscribe(signal: AbortSignal, first: readonly T[] = []): AsyncIterable<T> {
    let forget = (): void => undefined;
    const reader = new Reader<T>(first, this.#queueMax, () => {
      this.#readers.delete(reader);
      forget();
    });
    this.#readers.add(reader);
    if (signal.aborted) reader.end();
    else forget = onAbort(signal, () => reader.end());
    return reader;
  }

  close(): void {
    for (const reader of [...this.#readers]) reader.end();
  }
}

class Reader<T> implements AsyncIterable<T> {
  #queue: T[];
  readonly #queueMax: number;
  readonly #leave: () => void;
  #ended = false;
  #wake: (() => void) | null = null;

  constructor(first: readonly T[], queueMax: number, leave: () => void) {
    this.#queue = [...first];
    this.#queueMax = queueMax + first.length;
    this.#leave = leave;
  }

  push(item: T): void {
    if (this.#ended) return;
    if (this.#queue.length >= this.#queueMax) this.end();
    else this.#queue.push(item);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#leave();
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    try {
      for (;;) {
        const items = this.#queue;
        this.#queue = [];
        yield* items;
        if (this.#queue.length > 0) continue;
        if (this.#ended) return;
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = null;
      }
    } finally {
      this.end();
    }
  }
}
