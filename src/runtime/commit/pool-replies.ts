import type { CellKeys } from '../../core/cell/keys.ts';
import type { PoolBook } from '../../core/quota/pool-book.ts';
import type { Snapshot } from '../../ports/cell-store.ts';
import { RecordError } from '../../wire/codec/codec.ts';
import { poolCodec, sharedResourceCodec } from '../../wire/records/records.ts';

type Read = Pick<Snapshot, 'entries' | 'revision'>;

/** What was read of a pool; one that cannot be read stays as it was known, and its commits go on being refused. */
export function readPool(book: PoolBook, keys: CellKeys, pool: string, { entries, revision }: Read): void {
  const entry = entries.get(keys.pool(pool));
  const read = entry === undefined ? undefined : decoded(() => poolCodec.decode(entry.value));
  if (read !== null) book.observe(pool, read?.used ?? null, entry?.modRevision ?? revision);
}

/** The same of what an operator says of a resource. */
export function readResource(
  book: PoolBook,
  keys: CellKeys,
  name: string,
  { entries, revision }: Read,
): void {
  const entry = entries.get(keys.sharedResource(name));
  const read = entry === undefined ? undefined : decoded(() => sharedResourceCodec.decode(entry.value));
  if (read !== null) book.define(name, read ?? null, entry?.modRevision ?? revision);
}

function decoded<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return null;
  }
}
