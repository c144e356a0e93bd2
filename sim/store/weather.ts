import type { SeededRandom } from '../../src/core/seeded-random.ts';

/** What becomes of one attempt on its way. `late`: nobody answers, and it is done when the caller has given up. */
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
  /** Chance that a change is told to a follower only after up to `watchLagMs`. */
  readonly watchLags: number;
  readonly watchLagMs: number;
  /** Chance that a watch breaks at a change, so that its follower lists again. */
  readonly watchBreaks: number;
  /** How much longer than its time a lease may live. */
  readonly leaseLateMs: number;
}

export const CALM_STORE: StoreSettings = {
  ...{ delayMinMs: 0.2, delayMaxMs: 3, requestLost: 0, replyLost: 0, late: 0, readFails: 0 },
  ...{ watchLags: 0, watchLagMs: 0, watchBreaks: 0, leaseLateMs: 0 },
};

/** The weaknesses of a real etcd, drawn from the seed. What lasts (down, no space) is switched by the nemesis. */
export class StoreWeather {
  readonly #random: SeededRandom;
  settings: StoreSettings;
  /** Nobody leads: every call fails, what is under way ends without an answer. */
  down = false;
  /** Every write that adds something is refused. */
  full = false;

  constructor(random: SeededRandom, settings: StoreSettings = CALM_STORE) {
    this.#random = random;
    this.settings = settings;
  }

  delayMs(): number {
    const { delayMinMs, delayMaxMs } = this.settings;
    const drawn = this.#random.fraction();
    return delayMinMs + (delayMaxMs - delayMinMs) * drawn * drawn * drawn;
  }

  attemptFate(): AttemptFate {
    const { requestLost, replyLost, late } = this.settings;
    if (requestLost + replyLost + late === 0) return 'done';
    const drawn = this.#random.fraction();
    if (drawn < requestLost) return 'request-lost';
    if (drawn < requestLost + replyLost) return 'reply-lost';
    return drawn < requestLost + replyLost + late ? 'late' : 'done';
  }

  readFails(): boolean {
    return this.#happens(this.settings.readFails);
  }

  watchDelayMs(): number {
    const { watchLags, watchLagMs } = this.settings;
    return this.#happens(watchLags) ? this.#random.fraction() * watchLagMs : this.delayMs();
  }

  watchBreaks(): boolean {
    return this.#happens(this.settings.watchBreaks);
  }

  lateMs(maxMs: number): number {
    return this.#random.fraction() * maxMs;
  }

  leaseLateMs(): number {
    const { leaseLateMs } = this.settings;
    return leaseLateMs === 0 ? 0 : this.#random.fraction() * leaseLateMs;
  }

  #happens(chance: number): boolean {
    return chance > 0 && this.#random.fraction() < chance;
  }
}
