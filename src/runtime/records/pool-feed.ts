import type { CellKeys } from '../../core/cell/keys.ts';
import type { PoolBook } from '../../core/quota/pool-book.ts';
import type { Pool, SharedResource } from '../../core/quota/shared-resource.ts';
import type { CellStore } from '../../ports/cell-store.ts';
import type { RecordError } from '../../wire/wire.ts';
import { poolCodec, sharedResourceCodec } from '../../wire/records/records.ts';
import { Table } from './records.ts';

export interface PoolFeedOptions {
  /** More may be free of a pool of the resource than before. */
  readonly onCapacityFreed: (resource: string) => void;
  readonly onBadRecord: (error: RecordError, key: string) => void;
}

export class PoolFeed {
  readonly ready: Promise<unknown>;
  readonly #pools: Table<Pool>;
  readonly #resources: Table<SharedResource>;

  constructor(store: CellStore, keys: CellKeys, book: PoolBook, options: PoolFeedOptions) {
    const { onCapacityFreed: onRoom, onBadRecord } = options;
    this.#resources = new Table(store, keys.shared, sharedResourceCodec, {
      onBadRecord,
      onChange: (name, now) => {
        const revision = now?.modRevision ?? this.#resources.revision;
        if (book.define(name, now?.value ?? null, revision)) onRoom(name);
      },
    });
    this.#pools = new Table(store, keys.pools, poolCodec, {
      onBadRecord,
      onChange: (pool, now, before) => {
        const used = now?.value.used ?? 0;
        const revision = now?.modRevision ?? this.#pools.revision;
        book.observe(pool, now?.value.used ?? null, revision, now?.value.volume);
        // Called also for this process's own release, though the book has it from the reply: jobs may wait for it.
        if (used < (before?.value.used ?? 0) || now?.value.volume?.host !== before?.value.volume?.host)
          onRoom(pool.slice(0, pool.indexOf('/')));
      },
    });
    this.ready = Promise.all([this.#pools.ready, this.#resources.ready]);
    this.ready.catch(() => undefined);
  }

  close(): void {
    this.#pools.close();
    this.#resources.close();
  }
}
