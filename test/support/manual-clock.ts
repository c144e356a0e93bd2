import type { Clock } from '../../src/ports/clock.ts';

interface Timer {
  readonly atMs: number;
  readonly wake: () => void;
}

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #wallOffsetMs: number;
  readonly #timers = new Set<Timer>();
  #elapsedMs = 0;

  constructor(startMs = 1_700_000_000_000) {
    this.#wallOffsetMs = startMs;
  }

  nowMs(): number {
    return this.#wallOffsetMs + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  /** Sets the wall clock, as an administrator or a time server would: nothing else notices. */
  step(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  after(delayMs: number, wake: () => void): () => void {
    const timer = { atMs: this.#elapsedMs + Math.max(0, delayMs), wake };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** Moves the time and wakes what is due, in order; between two wakes everything that can go on goes on. */
  async advance(byMs: number): Promise<void> {
    const endMs = this.#elapsedMs + byMs;
    for (;;) {
      await settle();
      const due = [...this.#timers].filter((timer) => timer.atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#elapsedMs = Math.max(this.#elapsedMs, due.atMs);
      due.wake();
    }
    this.#elapsedMs = endMs;
    await settle();
  }
}

/** Lets everything run that waits for nothing but its turn. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets things run until the condition holds. @throws when it still does not after many turns */
export async function until(condition: () => boolean, what = 'the condition'): Promise<void> {
  for (let turn = 0; turn < 10_000; turn++) {
    if (condition()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`${what} did not come true`);
}
