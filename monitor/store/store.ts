import type { CellStore } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { StoreSize, StoreUpkeep } from '../../src/ports/store-upkeep.ts';
import type { Log, Metrics } from '../../src/ports/telemetry.ts';
import type { StoreStatus } from '../../src/wire/api/cell-api.ts';
import type { CellCopy } from '../view/view.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import { monitorRank } from '../hosts/hosts.ts';

/** How long the store's past is kept: a watch that was cut can be resumed, and `moorage check` can look back. */
export const HISTORY_KEPT_MS = 10 * 60_000;
/** etcd's own bound without `--quota-backend-bytes`. */
export const STORE_QUOTA_BYTES = 2 * 1024 ** 3;
const LOOK_MS = 30_000;
/** Of the quota: from here on people are told. */
const WARN_FRACTION = 0.7;

export interface StoreKeeperDeps {
  readonly self: string;
  readonly upkeep: StoreUpkeep;
  readonly copy: CellCopy;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly options: StoreKeeperOptions;
}

export interface StoreKeeperOptions {
  /** null: nothing is ever compacted. */
  readonly historyKeptMs: number | null;
  readonly quotaBytes: number;
}

/**
 * Keeps the store's database small. Every monitor measures it; the first in turn compacts what is older than the history
 * to be kept, so that the database grows with what the cell holds and not with what was ever written. When the store is
 * full all the same, it forgets the whole past, gives the space back and opens the store again: until then nothing is
 * placed, nor released with an outcome.
 */
export class StoreKeeper {
  readonly #deps: StoreKeeperDeps;
  readonly #stop: () => void;
  /** Revisions by when they were the newest, oldest first. */
  #marks: { readonly revision: number; readonly atMs: number }[] = [];
  #compacted = 0;
  #size: StoreSize | null = null;
  #looking: Promise<void> | null = null;

  constructor(deps: StoreKeeperDeps) {
    this.#deps = deps;
    this.#stop = every(deps.clock, LOOK_MS, () => {
      this.#looking ??= this.look().finally(() => (this.#looking = null));
    });
  }

  /** As last measured; null: not yet. */
  get size(): StoreSize | null {
    return this.#size;
  }

  /**
   * Measured now, for people.
   * @returns null when the store does not say
   */
  async status(store: CellStore): Promise<StoreStatus | null> {
    try {
      const { upkeep, options } = this.#deps;
      const [size, compactedRevision] = await Promise.all([upkeep.measure(), store.oldestRevision()]);
      return { ...size, compactedRevision, quotaBytes: options.quotaBytes };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return null;
    }
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#looking;
    await this.#deps.upkeep.close();
  }

  /** Measures, and does what is due. Never rejects. */
  async look(): Promise<void> {
    const { upkeep, copy, log, metrics, self } = this.#deps;
    try {
      const size = await upkeep.measure();
      this.#size = size;
      metrics.gauge('moorage_store_database_bytes', size.databaseBytes);
      metrics.gauge('moorage_store_in_use_bytes', size.inUseBytes);
      metrics.gauge('moorage_store_full', size.isFull ? 1 : 0);
      this.#warn(size);
      if (monitorRank(copy, self, 'store') !== 0) return;
      if (size.isFull) await this.#makeRoom(size);
      else await this.#forget(size);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      log.warn({ code: error.code }, `the store could not be looked after: ${error.message}`);
    }
  }

  #warn({ databaseBytes, inUseBytes, isFull }: StoreSize): void {
    const { quotaBytes } = this.#deps.options;
    if (!isFull && inUseBytes < quotaBytes * WARN_FRACTION) return;
    const text = isFull ? 'the store is full: nothing is placed' : 'the store is nearly full';
    this.#deps.log.warn({ databaseBytes, inUseBytes, quotaBytes }, text);
  }

  async #forget({ revision }: StoreSize): Promise<void> {
    const { clock, options } = this.#deps;
    if (options.historyKeptMs === null) return;
    const nowMs = clock.monotonicMs();
    this.#marks.push({ revision, atMs: nowMs });
    const kept = options.historyKeptMs;
    const old = this.#marks.filter(({ atMs }) => nowMs - atMs >= kept).at(-1);
    if (old === undefined) return;
    this.#marks = this.#marks.filter((mark) => mark.atMs >= old.atMs);
    if (old.revision > this.#compacted) await this.#compact(old.revision);
  }

  async #makeRoom(size: StoreSize): Promise<void> {
    const { log, upkeep } = this.#deps;
    await this.#compact(size.revision);
    await upkeep.defragment();
    await upkeep.disarm();
    this.#size = await upkeep.measure();
    const { databaseBytes } = this.#size;
    log.warn({ before: size.databaseBytes, databaseBytes }, 'the store was full; its past is forgotten');
  }

  async #compact(revision: number): Promise<void> {
    try {
      await this.#deps.upkeep.compact(revision);
    } catch (error) {
      // Another monitor was faster, or the server does so by itself.
      if (!(error instanceof StoreError) || error.code !== 'compacted') throw error;
    }
    this.#compacted = Math.max(this.#compacted, revision);
  }
}
