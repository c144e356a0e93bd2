import type { Clock } from '../../ports/clock.ts';
import { every } from './wait.ts';

/** Runs again and again, one at a time: a run that is due while the one before goes on is left out. */
export class PeriodicTask {
  readonly #stop: () => void;
  #running: Promise<void> | null = null;

  /** @param run never rejects */
  constructor(clock: Clock, periodMs: number, run: () => Promise<void>) {
    this.#stop = every(clock, periodMs, () => {
      this.#running ??= run().finally(() => (this.#running = null));
    });
  }

  /** Resolves when the run that is under way has ended. */
  async close(): Promise<void> {
    this.#stop();
    await this.#running;
  }
}
