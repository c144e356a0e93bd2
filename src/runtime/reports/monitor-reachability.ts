import type { Random } from '../../ports/random.ts';
import { Backoff } from '../wait/backoff.ts';

/**
 * A monitor to which more than half of its hosts are silent for so long may be cut off from them. Its followers leave it at
 * different times, since each asks another monitor for the whole view.
 */
const CUT_OFF_AFTER_MS = 10_000;
const CUT_OFF_SPREAD_MS = 10_000;
/** When every monitor finds most hosts silent, the hosts are gone: another one is tried ever more rarely. */
const TRY_ANOTHER = { firstMs: 60_000, maxMs: 600_000 };

/** Which hosts report to the monitor in use, and whether another monitor is worth a try. */
export class MonitorReachability {
  readonly #known = new Set<string>();
  readonly #silent = new Set<string>();
  readonly #random: Random;
  readonly #tries: Backoff;
  /** Until when most hosts must report again; null: they do (monotonic). */
  #cutOffAtMs: number | null = null;
  /** Earliest time for the next monitor (monotonic). */
  #nextTryMs = 0;

  constructor(random: Random) {
    this.#random = random;
    this.#tries = new Backoff(TRY_ANOTHER, random);
  }

  /** A stream begins: nothing is known yet of its monitor's hosts. */
  begin(): void {
    this.#known.clear();
    this.#silent.clear();
    this.#cutOffAtMs = null;
  }

  knows(host: string): boolean {
    return this.#known.has(host);
  }

  reporting(host: string): void {
    this.#known.add(host);
    this.#silent.delete(host);
    if (!this.#mostAreSilent()) this.#cutOffAtMs = null;
  }

  silent(host: string): void {
    this.#known.add(host);
    this.#silent.add(host);
  }

  left(host: string): void {
    this.#known.delete(host);
    this.#silent.delete(host);
    if (!this.#mostAreSilent()) this.#cutOffAtMs = null;
  }

  /**
   * To be called while the view is complete: before, hosts that will be found silent are missing.
   * @param nowMs monotonic
   */
  observe(nowMs: number): void {
    if (this.#mostAreSilent()) {
      this.#cutOffAtMs ??= nowMs + CUT_OFF_AFTER_MS + this.#random.below(CUT_OFF_SPREAD_MS);
      return;
    }
    this.#cutOffAtMs = null;
    // No hosts are not a reporting majority.
    if (this.#known.size === 0) return;
    this.#nextTryMs = 0;
    this.#tries.reset();
  }

  /**
   * Is another monitor to be tried? After true, false for a while, unless most hosts report meanwhile.
   * @param nowMs monotonic, as in the call of `observe` just before
   */
  isCutOff(nowMs: number): boolean {
    if (this.#cutOffAtMs === null || nowMs < this.#cutOffAtMs || nowMs < this.#nextTryMs) return false;
    this.#nextTryMs = nowMs + this.#tries.nextMs();
    return true;
  }

  #mostAreSilent(): boolean {
    return this.#silent.size * 2 > this.#known.size;
  }
}
