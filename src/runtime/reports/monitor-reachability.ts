import type { Random } from '../../ports/random.ts';
import { Backoff } from '../wait/backoff.ts';

/**
 * A monitor that for so long hears less than half of the hosts that it knows of may be cut off from them. Not all who follow it find so at
 * the same time: each that leaves it asks another one for the whole view.
 */
const BLIND_AFTER_MS = 10_000;
const BLIND_SPREAD_MS = 10_000;
/** When no monitor hears more, the hosts are gone: another one is tried ever more rarely. */
const TRY_ANOTHER = { firstMs: 60_000, maxMs: 600_000 };

/** Which hosts the monitor in use hears, and whether another one is worth a try. */
export class MonitorReachability {
  readonly #known = new Set<string>();
  readonly #silent = new Set<string>();
  readonly #random: Random;
  readonly #tries: Backoff;
  /** Until when most hosts must be heard again; null: they are (monotonic). */
  #blindAtMs: number | null = null;
  /** No other monitor is tried before (monotonic). */
  #nextTryMs = 0;

  constructor(random: Random) {
    this.#random = random;
    this.#tries = new Backoff(TRY_ANOTHER, random);
  }

  /** A stream begins: nothing is known yet of what its monitor hears. */
  begin(): void {
    this.#known.clear();
    this.#silent.clear();
    this.#blindAtMs = null;
  }

  knows(host: string): boolean {
    return this.#known.has(host);
  }

  reporting(host: string): void {
    this.#known.add(host);
    this.#silent.delete(host);
    if (!this.#hearsFew()) this.#blindAtMs = null;
  }

  silent(host: string): void {
    this.#known.add(host);
    this.#silent.add(host);
  }

  left(host: string): void {
    this.#known.delete(host);
    this.#silent.delete(host);
    if (!this.#hearsFew()) this.#blindAtMs = null;
  }

  /**
   * The view is complete; one that is not yet there lacks those that will be found silent.
   * @param nowMs monotonic
   */
  observe(nowMs: number): void {
    if (this.#hearsFew()) {
      this.#blindAtMs ??= nowMs + BLIND_AFTER_MS + this.#random.below(BLIND_SPREAD_MS);
      return;
    }
    this.#blindAtMs = null;
    // Who knows of no host at all does not hear most of them.
    if (this.#known.size === 0) return;
    this.#nextTryMs = 0;
    this.#tries.reset();
  }

  /**
   * Is another monitor to be asked instead? Having said so, it does not again for a while, unless most hosts were heard.
   * @param nowMs monotonic, as told to `look` just before
   */
  isCutOff(nowMs: number): boolean {
    if (this.#blindAtMs === null || nowMs < this.#blindAtMs || nowMs < this.#nextTryMs) return false;
    this.#nextTryMs = nowMs + this.#tries.nextMs();
    return true;
  }

  #hearsFew(): boolean {
    return this.#silent.size * 2 > this.#known.size;
  }
}
