import type { DiskErrorCode } from '../../src/ports/disk.ts';
import { DiskError } from '../../src/ports/disk.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import { Overlay } from '../agenda/overlay.ts';

const WRITE_MIN_MS = 0.05;
const WRITE_SPREAD_MS = 0.6;
const FREE_BYTES = 2 ** 34;

interface DiskSettings {
  /** Every write fails with this; null: none. */
  readonly fault: DiskErrorCode | null;
  /** Writes take this many times as long. */
  readonly slowness: number;
  /** A read takes up to so many milliseconds, most of them much less; 0: none, as from a page cache. */
  readonly readMaxMs: number;
  /** The same for pieces of large files alone, that is of output. */
  readonly rangeMaxMs: number;
}

/** How a machine's disk behaves. */
export class DiskFaultProfile {
  readonly #random: SeededRandom;
  readonly #settings = new Overlay<DiskSettings>({ fault: null, slowness: 1, readMaxMs: 0, rangeMaxMs: 0 });

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  get fault(): DiskErrorCode | null {
    return this.#settings.now.fault;
  }

  /** For a while. @returns takes the change back */
  override(change: Partial<DiskSettings>): () => void {
    return this.#settings.override(change);
  }

  get freeBytes(): number {
    return this.fault === 'full' ? 0 : FREE_BYTES;
  }

  delayMs(): number {
    return WRITE_MIN_MS + this.#random.fraction() * WRITE_SPREAD_MS;
  }

  writeDelayMs(): number {
    return this.delayMs() * this.#settings.now.slowness;
  }

  /** @returns 0: no time passes */
  readDelayMs(what: 'file' | 'range'): number {
    const { readMaxMs, rangeMaxMs } = this.#settings.now;
    const maxMs = what === 'file' ? readMaxMs : Math.max(readMaxMs, rangeMaxMs);
    return maxMs === 0 ? 0 : this.#random.fraction() ** 3 * maxMs;
  }

  writeFault(): DiskError | null {
    return this.fault === null ? null : new DiskError(this.fault, `the device says: ${this.fault}`);
  }

  /** A full or read-only device can be read. */
  readFault(): DiskError | null {
    return this.fault === 'io' ? this.writeFault() : null;
  }
}
