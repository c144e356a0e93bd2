import type { SeededRandom } from '../../src/core/random/random.ts';
import { Overlay } from '../agenda/overlay.ts';

/** What becomes of one attempt. `late`: it is not answered, and done after the caller's deadline. */
export type AttemptFate = 'done' | 'request-lost' | 'reply-lost' | 'late';

export interface StoreSettings {
  /** Between a call's way there and back, milliseconds. */
  readonly delayMinMs: number;
  readonly delayMaxMs: number;
  /** Chances that an attempt meets each of these fates. */
  readonly requestLost: number;
  readonly replyLost: number;
  readonly late: number;
  /** Chance that a read or a list fails. */
  readonly readFails: number;
  /** Chance that a change reaches a follower only after up to `watchLagMs`. */
  readonly watchLags: number;
  readonly watchLagMs: number;
  /** Chance that a watch breaks at a change, so that its follower lists again. */
  readonly watchBreaks: number;
  /** How much longer than its time a lease may live. */
  readonly leaseLateMs: number;
  /** No leader: every call fails, and followers receive nothing. */
  readonly down: boolean;
  /** Every write that adds something is refused. */
  readonly full: boolean;
}

export const FAULTLESS_STORE: StoreSettings = {
  ...{ delayMinMs: 0.2, delayMaxMs: 3, requestLost: 0, replyLost: 0, late: 0, readFails: 0 },
  ...{ watchLags: 0, watchLagMs: 3_000, watchBreaks: 0, leaseLateMs: 0, down: false, full: false },
};

/** The weaknesses of a real etcd, drawn from the seed. */
export class StoreFaultProfile {
  readonly #random: SeededRandom;
  readonly #settings: Overlay<StoreSettings>;

  constructor(random: SeededRandom, settings: StoreSettings = FAULTLESS_STORE) {
    this.#random = random;
    this.#settings = new Overlay(settings);
  }

  get down(): boolean {
    return this.#settings.now.down;
  }

  get full(): boolean {
    return this.#settings.now.full;
  }

  /** For a while. @returns takes the change back */
  override(change: Partial<StoreSettings>): () => void {
    return this.#settings.override(change);
  }

  delayMs(): number {
    const { delayMinMs, delayMaxMs } = this.#settings.now;
    const drawn = this.#random.fraction();
    return delayMinMs + (delayMaxMs - delayMinMs) * drawn * drawn * drawn;
  }

  attemptFate(): AttemptFate {
    const { requestLost, replyLost, late } = this.#settings.now;
    if (requestLost + replyLost + late === 0) return 'done';
    const drawn = this.#random.fraction();
    if (drawn < requestLost) return 'request-lost';
    if (drawn < requestLost + replyLost) return 'reply-lost';
    return drawn < requestLost + replyLost + late ? 'late' : 'done';
  }

  readFails(): boolean {
    return this.#happens(this.#settings.now.readFails);
  }

  watchDelayMs(): number {
    const { watchLags, watchLagMs } = this.#settings.now;
    return this.#happens(watchLags) ? this.#random.fraction() * watchLagMs : this.delayMs();
  }

  watchBreaks(): boolean {
    return this.#happens(this.#settings.now.watchBreaks);
  }

  lateMs(maxMs: number): number {
    return this.#random.fraction() * maxMs;
  }

  leaseLateMs(): number {
    const { leaseLateMs } = this.#settings.now;
    return leaseLateMs === 0 ? 0 : this.#random.fraction() * leaseLateMs;
  }

  #happens(chance: number): boolean {
    return chance > 0 && this.#random.fraction() < chance;
  }
}
