import type { Allocation } from '../../src/core/cell/allocation.ts';
import { amountsOf, NamespaceSums } from '../../src/core/quota/amounts.ts';
import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { Quota } from '../../src/core/quota/quota.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import { QUOTAS_MAX } from '../../src/wire/values/bounds.ts';
import type { QuotaStatus } from '../../src/wire/api/quota-api.ts';
import { quotaCodec } from '../../src/wire/records/records.ts';
import { writeLimit } from './limits.ts';
import { refuse } from '../refusals.ts';

/** What namespaces may use. Read from the store when asked for: monitors need no copy. See docs/decisions: Tickets and quotas. */
export class Quotas {
  readonly #store: CellStore;
  readonly #keys: CellKeys;

  constructor(store: CellStore, keys: CellKeys) {
    this.#store = store;
    this.#keys = keys;
  }

  /** By namespace, with what its allocations hold; needs no arbiter. */
  async list(allocations: Iterable<Allocation>): Promise<readonly QuotaStatus[]> {
    const known = await this.#read();
    const used = new NamespaceSums();
    for (const allocation of allocations)
      if (known.has(allocation.namespace)) used.change(allocation.namespace, amountsOf(allocation), 1);
    return [...known].map(([namespace, text]) => {
      const quota = decoded(text);
      return {
        ...NOTHING_ALLOWED,
        ...quota,
        namespace,
        used: used.get(namespace),
        isReadable: quota !== null,
      };
    });
  }

  /**
   * Replaces all of a namespace's quota. Running allocations stay, also when they use more: then nothing more is granted until
   * enough of them has ended.
   *
   * @throws ProblemError 409 when the cell has as many as it may have
   */
  async set(quota: Quota): Promise<void> {
    const known = await this.#read();
    const before = known.get(quota.namespace);
    if (before === undefined && known.size >= QUOTAS_MAX)
      throw refuse(409, 'too-many', `a cell has at most ${String(QUOTAS_MAX)} quotas`, {
        hint: 'moorage quota   (`moorage quota rm NAMESPACE` removes one)',
      });
    if (before !== undefined && canonicalJson(decoded(before)) === canonicalJson(quota)) return;
    const key = this.#keys.quota(quota.namespace);
    await writeLimit(this.#store, { kind: 'put', key, value: quotaCodec.encode(quota) });
  }

  async remove(namespace: string): Promise<void> {
    await writeLimit(this.#store, { kind: 'delete', key: this.#keys.quota(namespace) });
  }

  /** The records by namespace, in its order. */
  async #read(): Promise<ReadonlyMap<string, string>> {
    const prefix = this.#keys.quota('');
    const { entries } = await this.#store.list(prefix);
    const names = [...entries.keys()].sort();
    return new Map(names.map((key) => [key.slice(prefix.length), entries.get(key)?.value ?? '']));
  }
}

/** An arbiter grants nothing on a record that it cannot read. */
const NOTHING_ALLOWED = { cpuMilli: 0, memoryMib: 0, gpuMilli: 0, allocations: 0 };

/** Its limits alone; null: the record is no quota. */
function decoded(text: string): Quota | null {
  try {
    const { namespace, cpuMilli, memoryMib, gpuMilli, allocations } = quotaCodec.decode(text);
    return { namespace, cpuMilli, memoryMib, gpuMilli, allocations };
  } catch {
    return null;
  }
}
