import type { Clock } from '../../src/ports/clock.ts';

/** A clock on which no delay takes time: whoever waits goes on a turn later. The order of waiting is kept. */
export class InstantClock implements Clock {
  #nowMs = 0;

  nowMs(): number {
    return 1_700_000_000_000 + this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, wake: () => void): () => void {
    const timer = setImmediate(() => {
      this.#nowMs += delayMs;
      wake();
    });
    return () => clearImmediate(timer);
  }
}

export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
