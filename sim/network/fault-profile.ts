import type { SeededRandom } from '../../src/core/random/random.ts';
import { Overlay } from '../agenda/overlay.ts';

/** What the network does to one message: a delay, or `lost`. */
export type Passage = number | 'lost';

export interface NetworkSettings {
  /** Delays are spread between these, most of them near the lower one; milliseconds. */
  readonly delayMinMs: number;
  readonly delayMaxMs: number;
  /** Chance that a message is lost, and with it the call or the connection. */
  readonly loss: number;
  /** Chance that a request arrives a second time, later. */
  readonly double: number;
}

export const FAULTLESS_NETWORK: NetworkSettings = { delayMinMs: 0.1, delayMaxMs: 2, loss: 0, double: 0 };

/** How messages fare between actors. Cuts are made and healed by the nemesis. */
export class NetworkFaultProfile {
  readonly #random: SeededRandom;
  readonly #cuts = new Map<string, number>();
  readonly #settings: Overlay<NetworkSettings>;

  constructor(random: SeededRandom, settings: NetworkSettings = FAULTLESS_NETWORK) {
    this.#random = random;
    this.#settings = new Overlay(settings);
  }

  /** For a while. @returns takes the change back */
  override(change: Partial<NetworkSettings>): () => void {
    return this.#settings.override(change);
  }

  passage(from: string, to: string): Passage {
    const { loss } = this.#settings.now;
    if (this.isCut(from, to)) return 'lost';
    if (loss > 0 && this.#random.fraction() < loss) return 'lost';
    return this.delayMs();
  }

  delayMs(): number {
    const { delayMinMs, delayMaxMs } = this.#settings.now;
    const drawn = this.#random.fraction();
    return delayMinMs + (delayMaxMs - delayMinMs) * drawn * drawn * drawn;
  }

  /** Does this request arrive twice? */
  doubles(): boolean {
    const { double } = this.#settings.now;
    return double > 0 && this.#random.fraction() < double;
  }

  isCut(from: string, to: string): boolean {
    return this.#cuts.size > 0 && (this.#cuts.get(`${from}>${to}`) ?? 0) > 0;
  }

  /** Messages one way are lost. Cuts add up: each needs its own healing. */
  cut(from: string, to: string): void {
    const key = `${from}>${to}`;
    this.#cuts.set(key, (this.#cuts.get(key) ?? 0) + 1);
  }

  heal(from: string, to: string): void {
    const key = `${from}>${to}`;
    const left = (this.#cuts.get(key) ?? 0) - 1;
    if (left > 0) this.#cuts.set(key, left);
    else this.#cuts.delete(key);
  }
}
