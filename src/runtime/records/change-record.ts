import type { CellStore, Compare, Entry } from '../../ports/cell-store.ts';
import type { Codec } from '../../wire/wire.ts';

/** Each try fails only when another process has changed the record. */
const TRIES_MAX = 8;

export type RecordChange =
  /** The record is so from this revision on. `kept`: nothing was to be changed. 0: there is none. */
  | { readonly kind: 'written' | 'kept'; readonly revision: number }
  /** The store did not say whether it was written. */
  | { readonly kind: 'unknown' }
  /** Others were faster every time, or what else was compared has changed. */
  | { readonly kind: 'contended' };

/**
 * Changes one record by compare-and-swap, with what was read, and again with what others made of it.
 *
 * @param next of what is there; null: it is left. Called once for each try
 * @param also what must hold besides
 * @throws StoreError
 */
export async function changeRecord<T>(
  store: Pick<CellStore, 'read' | 'attempt'>,
  key: string,
  codec: Codec<T>,
  next: (known: T | undefined) => T | null,
  also: readonly Compare[] = [],
): Promise<RecordChange> {
  let entry: Entry | undefined = (await store.read([key])).entries.get(key);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const wanted = next(entry === undefined ? undefined : codec.decode(entry.value));
    if (wanted === null) return { kind: 'kept', revision: entry?.modRevision ?? 0 };
    const reply = await store.attempt({
      compares: [{ key, target: 'modRevision', equals: entry?.modRevision ?? 0 }, ...also],
      writes: [{ kind: 'put', key, value: codec.encode(wanted) }],
      readBack: [key],
    });
    if (reply.outcome === 'applied') return { kind: 'written', revision: reply.revision };
    if (reply.outcome === 'unknown') return { kind: 'unknown' };
    const found = reply.found.get(key);
    if (found?.modRevision === entry?.modRevision) return { kind: 'contended' };
    entry = found;
  }
  return { kind: 'contended' };
}
