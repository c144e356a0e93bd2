/**
 * Streams of messages: one source for many readers.
 */
import { onAbort } from '../../ports/on-abort.ts';

/** Takes what a slow reader misses, and tells it in one item. */
export interface Missed<T> {
  add(item: T): void;
  summary(): T;
}

/**
 * A reader has a bounded queue. One that falls behind by more than the bound is ended, and must come back and say from
 * where: a slow reader costs bounded memory, and knows that it missed something. Or it says how what it misses is summed up,
 * and goes on after the sum. (Node's `events.on` has no bound that ends one reader alone.)
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

  /**
   * Everything sent from now on, after `first`. Ends when the signal is aborted, on `close`, and on overflow without `missed`.
   * @param missed what sums up the items beyond the bound, until the reader has read what was held
   * @param onEnd the reader is gone, or nothing more is sent to it; may be called again
   */
  subscribe(
    signal: AbortSignal,
    first: readonly T[] = [],
    missed: (() => Missed<T>) | null = null,
    onEnd: () => void = () => undefined,
  ): AsyncIterable<T> {
    let forget = (): void => undefined;
    const leave = (): void => {
      this.#readers.delete(reader);
      forget();
      onEnd();
    };
    const reader = new Reader<T>(first, { queueMax: this.#queueMax, missed, leave });
    this.#readers.add(reader);
    if (signal.aborted) reader.end();
    else forget = onAbort(signal, () => reader.end());
    return reader;
  }

  close(): void {
    for (const reader of [...this.#readers]) reader.end();
  }
}

interface ReaderOptions<T> {
  readonly queueMax: number;
  readonly missed: (() => Missed<T>) | null;
  readonly leave: () => void;
}

class Reader<T> implements AsyncIterable<T> {
  #queue: T[];
  readonly #queueMax: number;
  readonly #options: ReaderOptions<T>;
  /** What did not fit since the queue was last read. */
  #missed: Missed<T> | null = null;
  #ended = false;
  #wake: (() => void) | null = null;

  constructor(first: readonly T[], options: ReaderOptions<T>) {
    this.#queue = [...first];
    this.#queueMax = options.queueMax + first.length;
    this.#options = options;
  }

  push(item: T): void {
    if (this.#ended) return;
    if (this.#missed === null && this.#queue.length >= this.#queueMax)
      this.#missed = this.#options.missed?.() ?? null;
    if (this.#missed !== null) this.#missed.add(item);
    else if (this.#queue.length >= this.#queueMax) this.end();
    else this.#queue.push(item);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#options.leave();
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    try {
      for (;;) {
        const items = this.#queue;
        const missed = this.#missed;
        if (missed === null) this.#queue = [];
        yield* items;
        if (missed !== null) {
          // All that came while the items were read.
          this.#queue = [];
          this.#missed = null;
          yield missed.summary();
        }
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
