import type { CellStore, Compare, Entry, Write } from '../../ports/cell-store.ts';
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
  return await changeRecords(store, [key], codec, ([known]) => [next(known)], also);
}

/**
 * Changes several records together, in one transaction that compares all of them.
 *
 * @param next of what is there, in the order of the keys; null: that one is left
 * @returns the revision of the first of them, where none was to be changed
 * @throws StoreError
 */
export async function changeRecords<T>(
  store: Pick<CellStore, 'read' | 'attempt'>,
  changed: readonly string[],
  codec: Codec<T>,
  next: (known: readonly (T | undefined)[]) => readonly (T | null)[],
  also: readonly Compare[] = [],
): Promise<RecordChange> {
  let entries: ReadonlyMap<string, Entry> = (await store.read(changed)).entries;
  const revisionOf = (key = ''): number => entries.get(key)?.modRevision ?? 0;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const known = changed.map((key) => entries.get(key));
    const wanted = next(known.map((entry) => (entry === undefined ? undefined : codec.decode(entry.value))));
    const writes = wanted.flatMap((value, at): Write[] =>
      value === null ? [] : [{ kind: 'put', key: changed[at] ?? '', value: codec.encode(value) }],
    );
    if (writes.length === 0) return { kind: 'kept', revision: revisionOf(changed[0]) };
    const reply = await store.attempt({
      compares: [...changed.map((key) => unchanged(key, revisionOf(key))), ...also],
      writes,
      readBack: changed,
    });
    if (reply.outcome === 'applied') return { kind: 'written', revision: reply.revision };
    if (reply.outcome === 'unknown') return { kind: 'unknown' };
    const { found } = reply;
    if (changed.every((key) => (found.get(key)?.modRevision ?? 0) === revisionOf(key)))
      return { kind: 'contended' };
    entries = found;
  }
  return { kind: 'contended' };
}

function unchanged(key: string, modRevision: number): Compare {
  return { key, target: 'modRevision', equals: modRevision };
}
