import type { Clock } from '../../src/ports/clock.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';

/** Longest stretch of work in memory before others in this process have their turn (S3.47, S3.48). */
const STRETCH_MS = 10;
/** Divides long work in memory into stretches, between which others in this process have their turn. */
export class Breath {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #stepsMax: number;
  #sinceMs = 0;
  #steps = 0;

  /** @param stepsMax what counts as as long, for clocks that stand still while we work */
  constructor(clock: Clock, signal: AbortSignal, stepsMax: number) {
    this.#clock = clock;
    this.#signal = signal;
    this.#stepsMax = stepsMax;
    this.begin();
  }

  /** A stretch begins here: others had their turn just now. */
  begin(): void {
    this.#sinceMs = this.#clock.monotonicMs();
    this.#steps = 0;
  }

  /** One more step was done: has the stretch been long enough? */
  step(): boolean {
    return ++this.#steps >= this.#stepsMax || this.#clock.monotonicMs() - this.#sinceMs >= STRETCH_MS;
  }

  /** Others have their turn; at once when the term is over. */
  async take(): Promise<void> {
    await sleep(this.#clock, 0, this.#signal);
    this.begin();
  }
}
