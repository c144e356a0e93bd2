import type { CellKeys } from '../src/core/cell/keys.ts';
import type { Quota } from '../src/core/quota/quota.ts';
import type { SharedResource } from '../src/core/quota/shared-resource.ts';
import type { CellStore } from '../src/ports/cell-store.ts';
import type { Log } from '../src/ports/telemetry.ts';
import { CellPauses } from '../src/runtime/records/pauses.ts';
import { Table } from '../src/runtime/records/records.ts';
import { quotaCodec, sharedResourceCodec } from '../src/wire/records/records.ts';

/**
 * The operators' limits, live. A quota record that cannot be read keeps its last good value; one that never could be
 * read is not known at all, so `broken` names it and its namespace gets nothing.
 */
export class Limits {
  readonly ready: Promise<void>;
  readonly pauses: CellPauses;
  readonly #quotas: Table<Quota>;
  readonly #shared: Table<SharedResource>;
  readonly #broken = new Set<string>();

  /** @param onQuota a namespace has a new quota (`revision` created it), or none any more */
  constructor(
    store: CellStore,
    keys: CellKeys,
    log: Log,
    onQuota: (namespace: string, revision: number | null) => void,
  ) {
    const prefix = keys.quota('');
    this.#quotas = new Table(store, prefix, quotaCodec, {
      onChange: (namespace, now, before) => {
        this.#broken.delete(namespace);
        if (now?.createRevision !== before?.createRevision) onQuota(namespace, now?.createRevision ?? null);
      },
      onBadRecord: (error, key) => {
        const namespace = key.slice(prefix.length);
        // A row that was good once keeps its value.
        if (this.#quotas.get(namespace) === undefined) this.#broken.add(namespace);
        log.error({ key, error }, 'a quota cannot be read: its namespace gets no tickets');
      },
    });
    this.#shared = new Table(store, keys.shared, sharedResourceCodec, {
      onBadRecord: (error, key) => log.error({ key, error }, 'a shared resource cannot be read'),
    });
    this.pauses = new CellPauses({ store, keys, log });
    this.ready = Promise.all([this.#quotas.ready, this.#shared.ready, this.pauses.ready]).then(
      () => undefined,
    );
    // An arbiter that is closed before its start leaves a rejection that no caller awaits.
    this.ready.catch(() => undefined);
  }

  /** null: the namespace has none. */
  quota(namespace: string): Quota | null {
    const quota = this.#quotas.get(namespace)?.value;
    if (quota !== undefined) return { ...quota, namespace };
    return this.#broken.has(namespace) ? nothingFor(namespace) : null;
  }

  /** The revision that created the namespace's quota; null: it has none, or none that can be read. */
  quotaRevision(namespace: string): number | null {
    return this.#quotas.get(namespace)?.createRevision ?? null;
  }

  /** Namespaces with a quota, readable or not. */
  *namespaces(): IterableIterator<string> {
    for (const [namespace] of this.#quotas.rows()) yield namespace;
    yield* this.#broken;
  }

  *shared(): IterableIterator<SharedResource> {
    for (const [, { value }] of this.#shared.rows()) yield value;
  }

  close(): void {
    this.#quotas.close();
    this.#shared.close();
    this.pauses.close();
  }
}

function nothingFor(namespace: string): Quota {
  return { namespace, cpuMilli: 0, memoryMib: 0, gpuMilli: 0, allocations: 0 };
}
