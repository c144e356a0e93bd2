/**
 * `store.ts` keeps the store's database small; `registration.ts` keeps this monitor registered there.
 */
import type { CellStore } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { StoreSize, StoreUpkeep } from '../../src/ports/store-upkeep.ts';
import type { StoreStatus } from '../../src/wire/api/cell-api.ts';
import { PeriodicTask } from '../../src/runtime/wait/periodic-task.ts';
import type { MonitorContext } from '../context.ts';
import { monitorRank } from '../view/rank.ts';

/** How long the store's history is kept: a watch that was cut can resume, and `moorage check` can read back. */
export const HISTORY_KEPT_MS = 10 * 60_000;
/** etcd's own bound without `--quota-backend-bytes`. */
export const STORE_QUOTA_BYTES = 2 * 1024 ** 3;
const CHECK_MS = 30_000;
/** Share of the quota from which on operators are warned. */
const WARN_FRACTION = 0.7;

export interface StoreKeeperDeps extends Pick<MonitorContext, 'self' | 'copy' | 'clock' | 'log' | 'metrics'> {
  readonly upkeep: StoreUpkeep;
  readonly options: StoreKeeperOptions;
}

export interface StoreKeeperOptions {
  /** null: nothing is ever compacted. */
  readonly historyKeptMs: number | null;
  readonly quotaBytes: number;
}

/**
 * Every monitor measures the database; the one of rank 0 compacts what is older than the history to be kept, so that the
 * database grows with what the cell holds and not with what was ever written. Defragmentation stops a member and is seldom of
 * use, since free space in the file is written again; so it is done only when the store is full: then the whole history is
 * compacted, the space given back and the store opened again, where monitors may do that: a store with users leaves it to its
 * operators. Until then nothing is placed, nor released with an outcome.
 * See docs/decisions/cell-store.md.
 */
export class StoreKeeper {
  readonly #deps: StoreKeeperDeps;
  readonly #checks: PeriodicTask;
  /** Revisions by when they were the newest, oldest first. */
  #marks: { readonly revision: number; readonly atMs: number }[] = [];
  #compacted = 0;
  #size: StoreSize | null = null;

  constructor(deps: StoreKeeperDeps) {
    this.#deps = deps;
    this.#checks = new PeriodicTask(deps.clock, CHECK_MS, () => this.check());
  }

  /** As last measured; null: not yet. */
  get size(): StoreSize | null {
    return this.#size;
  }

  get quotaBytes(): number {
    return this.#deps.options.quotaBytes;
  }

  /**
   * Measured now.
   * @returns null when the store does not answer
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
    await this.#checks.close();
    await this.#deps.upkeep.close();
  }

  /** Measures, then compacts or frees space. Never rejects. */
  async check(): Promise<void> {
    const { upkeep, log, metrics } = this.#deps;
    try {
      const size = await upkeep.measure();
      this.#size = size;
      metrics.gauge('moorage_store_database_bytes', size.databaseBytes);
      metrics.gauge('moorage_store_in_use_bytes', size.inUseBytes);
      metrics.gauge('moorage_store_quota_bytes', this.#deps.options.quotaBytes);
      metrics.gauge('moorage_store_full', size.isFull ? 1 : 0);
      this.#warn(size);
      if (monitorRank(this.#deps, 'store') !== 0) return;
      if (size.isFull) await this.#freeSpace(size);
      else await this.#compactOld(size);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      log.warn({ code: error.code }, `the store could not be maintained: ${error.message}`);
    }
  }

  #warn({ databaseBytes, inUseBytes, isFull }: StoreSize): void {
    const { quotaBytes } = this.#deps.options;
    if (!isFull && inUseBytes < quotaBytes * WARN_FRACTION) return;
    const text = isFull ? 'the store is full: nothing is placed' : 'the store is nearly full';
    this.#deps.log.warn({ databaseBytes, inUseBytes, quotaBytes }, text);
  }

  async #compactOld({ revision }: StoreSize): Promise<void> {
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

  async #freeSpace(size: StoreSize): Promise<void> {
    const { log, upkeep } = this.#deps;
    try {
      this.#size = await freeSpace(upkeep, size.revision);
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'denied') throw error;
      log.error({}, 'the store is full, and a monitor is no operator of it: moorage store reopen');
      return;
    }
    this.#compacted = Math.max(this.#compacted, size.revision);
    const { databaseBytes } = this.#size;
    log.warn({ before: size.databaseBytes, databaseBytes }, 'the store was full; its history is compacted');
  }

  async #compact(revision: number): Promise<void> {
    await dropPast(this.#deps.upkeep, revision);
    this.#compacted = Math.max(this.#compacted, revision);
  }
}

/**
 * Compacts the whole history, gives the space back and opens a full store again.
 * @returns its size then
 * @throws StoreError
 */
export async function freeSpace(upkeep: StoreUpkeep, revision: number): Promise<StoreSize> {
  await dropPast(upkeep, revision);
  await upkeep.defragment();
  await upkeep.disarm();
  return upkeep.measure();
}

async function dropPast(upkeep: StoreUpkeep, revision: number): Promise<void> {
  try {
    await upkeep.compact(revision);
  } catch (error) {
    // Another monitor was faster, or the server does so by itself.
    if (!(error instanceof StoreError) || error.code !== 'compacted') throw error;
  }
}
