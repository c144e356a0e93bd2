import type { Random } from '../ports/random.ts';
import { Backoff } from './backoff.ts';

/** A monitor that for so long hears less than half of the hosts that it knows of may be cut off from them. */
const BLIND_AFTER_MS = 10_000;
/** When no monitor hears more, the hosts are gone: another one is tried ever more rarely. */
const TRY_ANOTHER = { firstMs: 60_000, maxMs: 600_000 };

/** Which hosts the monitor in use hears, and whether another one is worth a try. */
export class MonitorSight {
  readonly #known = new Set<string>();
  readonly #silent = new Set<string>();
  readonly #tries: Backoff;
  #blindSinceMs: number | null = null;
  /** No other monitor is tried before (monotonic). */
  #nextTryMs = 0;

  constructor(random: Random) {
    this.#tries = new Backoff(TRY_ANOTHER, random);
  }

  /** A stream begins: nothing is known yet of what its monitor hears. */
  begin(): void {
    this.#known.clear();
    this.#silent.clear();
    this.#blindSinceMs = null;
  }

  knows(host: string): boolean {
    return this.#known.has(host);
  }

  heard(host: string): void {
    this.#known.add(host);
    this.#silent.delete(host);
  }

  silent(host: string): void {
    this.#known.add(host);
    this.#silent.add(host);
  }

  left(host: string): void {
    this.#known.delete(host);
    this.#silent.delete(host);
  }

  /**
   * Is another monitor to be asked instead? Having said so, it does not again for a while, unless most hosts were heard.
   * To be asked of a complete view: one that is not yet there lacks those that will be found silent.
   * @param nowMs monotonic
   */
  isBlind(nowMs: number): boolean {
    if (this.#silent.size * 2 <= this.#known.size) {
      this.#blindSinceMs = null;
      this.#nextTryMs = 0;
      this.#tries.reset();
      return false;
    }
    this.#blindSinceMs ??= nowMs;
    if (nowMs - this.#blindSinceMs < BLIND_AFTER_MS || nowMs < this.#nextTryMs) return false;
    this.#nextTryMs = nowMs + this.#tries.nextMs();
    return true;
  }
}
