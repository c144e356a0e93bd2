import type { Clock } from '../../src/ports/clock.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import type { FetchSlice } from '../../src/wire/api/arbiter-api.ts';

/** Asks the arbiters for the next part; null: none of them answers. */
export type AskFetchSlice = () => Promise<FetchSlice | null>;

/** While no arbiter answers, a part of this size is taken without asking: what starts then has its ticket already. */
const UNASKED_BYTES = 8 * 1024 * 1024;

/** Holds the fetches of this host, all together, to what the cell's arbiters give it (S3.35). */
export class FetchPace {
  readonly #clock: Clock;
  readonly #ask: AskFetchSlice;
  #leftBytes = 0;
  /** One question at a time. */
  #asking: Promise<void> | null = null;

  constructor(clock: Clock, ask: AskFetchSlice) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** Resolves when so many bytes may be taken, or when the signal says that they are no longer wanted. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    this.#leftBytes -= bytes;
    while (this.#leftBytes < 0 && !signal.aborted) {
      this.#asking ??= this.#more(signal).finally(() => (this.#asking = null));
      await this.#asking;
    }
  }

  async #more(signal: AbortSignal): Promise<void> {
    const slice = (await this.#ask()) ?? { bytes: UNASKED_BYTES, afterMs: 0 };
    if (slice.afterMs > 0) await sleep(this.#clock, slice.afterMs, signal);
    this.#leftBytes += slice.bytes;
  }
}
