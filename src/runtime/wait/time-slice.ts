import type { Clock } from '../../ports/clock.ts';
import { sleep } from './wait.ts';

/** Longest work in memory before the event loop serves the rest of the process (S3.47, S3.48). */
const SLICE_MS = 10;

/** Divides long work in memory into time slices, and yields to the event loop between them. */
export class TimeSlice {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #stepsMax: number;
  #sinceMs = 0;
  #steps = 0;

  /** @param stepsMax steps that fill a slice in any case, for clocks that stand still during work in memory */
  constructor(clock: Clock, signal: AbortSignal, stepsMax: number) {
    this.#clock = clock;
    this.#signal = signal;
    this.#stepsMax = stepsMax;
    this.restart();
  }

  /** A new slice begins: the event loop ran just now. */
  restart(): void {
    this.#sinceMs = this.#clock.monotonicMs();
    this.#steps = 0;
  }

  /** Counts one more step. @returns the slice is used up */
  step(): boolean {
    return ++this.#steps >= this.#stepsMax || this.#clock.monotonicMs() - this.#sinceMs >= SLICE_MS;
  }

  /** Yields to the event loop; returns at once when the term is over. */
  async yield(): Promise<void> {
    await sleep(this.#clock, 0, this.#signal);
    this.restart();
  }
}
