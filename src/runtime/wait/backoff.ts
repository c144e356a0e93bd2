import type { Random } from '../../ports/random.ts';

export interface BackoffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** A stream that ended is opened again soon, then every few seconds. */
export const RECONNECT: BackoffOptions = { firstMs: 100, maxMs: 5_000 };

/**
 * Delays that double up to a bound, each drawn from its upper half, so that processes that failed together do not retry
 * together.
 */
export class Backoff {
  readonly #options: BackoffOptions;
  readonly #random: Random;
  #failures = 0;

  constructor(options: BackoffOptions, random: Random) {
    this.#options = options;
    this.#random = random;
  }

  nextMs(): number {
    const ceiling = Math.min(this.#options.maxMs, this.#options.firstMs * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    return ceiling / 2 + (this.#random.fraction() * ceiling) / 2;
  }

  reset(): void {
    this.#failures = 0;
  }
}
