import type { CellMeta } from '../../core/core.ts';
import { SCHEMA_VERSION } from '../../core/core.ts';
import type { CellKeys } from '../../core/cell/keys.ts';
import type { CellStore } from '../../ports/cell-store.ts';
import { metaCodec } from '../../wire/records/records.ts';
import { Table } from './records.ts';

/** Each try fails only when another process creates the same key at the same time. */
const TRIES_MAX = 5;

/** The cell was written by a version with another layout; writing to it would destroy it. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';
  readonly retryable = false;
  readonly found: number;

  constructor(found: number) {
    super(
      `the cell has schema ${String(found)}, this version reads and writes schema ${String(SCHEMA_VERSION)}`,
    );
    this.found = found;
  }
}

export interface MetaMaker {
  readonly nowMs: number;
  /** A new random UUID: the cell's incarnation. */
  readonly makeUuid: () => string;
}

/**
 * The cell's meta record; the first process to ask creates it. The create is safe to repeat, also after an unknown outcome:
 * it succeeds only while there is no record, and the record that is read then is the cell's.
 *
 * @throws SchemaError; StoreError; RecordError
 */
export async function openMeta(store: CellStore, keys: CellKeys, maker: MetaMaker): Promise<CellMeta> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const found = (await store.read([keys.meta])).entries.get(keys.meta);
    if (found !== undefined) return checked(metaCodec.decode(found.value));
    const meta: CellMeta = {
      schema: SCHEMA_VERSION,
      incarnation: maker.makeUuid(),
      createdAtMs: maker.nowMs,
    };
    await store.attempt({
      compares: [{ key: keys.meta, target: 'createRevision', equals: 0 }],
      writes: [{ kind: 'put', key: keys.meta, value: metaCodec.encode(meta) }],
      readBack: [],
    });
  }
  throw new Error(`the cell's meta record at ${keys.meta} could not be created or read`);
}

/**
 * After the store was restored from a snapshot, or made anew: gives the cell a new incarnation. Every role sees it, drops
 * what it knows, and begins again.
 *
 * @throws SchemaError; StoreError; RecordError
 */
export async function renewMeta(store: CellStore, keys: CellKeys, maker: MetaMaker): Promise<CellMeta> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const found = (await store.read([keys.meta])).entries.get(keys.meta);
    const known = found === undefined ? undefined : checked(metaCodec.decode(found.value));
    const meta = renewedMeta(known, maker);
    const reply = await store.attempt({
      compares: [{ key: keys.meta, target: 'modRevision', equals: found?.modRevision ?? 0 }],
      writes: [{ kind: 'put', key: keys.meta, value: metaCodec.encode(meta) }],
      readBack: [],
    });
    if (reply.outcome === 'applied') return meta;
  }
  throw new Error(`the cell's meta record at ${keys.meta} could not be renewed`);
}

export function renewedMeta(known: CellMeta | undefined, { nowMs, makeUuid }: MetaMaker): CellMeta {
  const { createdAtMs = nowMs } = known ?? {};
  return { ...known, schema: SCHEMA_VERSION, incarnation: makeUuid(), createdAtMs, restoredAtMs: nowMs };
}

function checked(meta: CellMeta): CellMeta {
  if (meta.schema !== SCHEMA_VERSION) throw new SchemaError(meta.schema);
  return meta;
}

/** Calls once when the cell gets another incarnation than the given one, or loses its record. @returns ends the watch */
export function watchIncarnation(
  store: CellStore,
  keys: CellKeys,
  incarnation: string,
  onOther: () => void,
): () => void {
  const table = new Table<CellMeta>(store, keys.meta, metaCodec, {
    onChange: (_name, now) => {
      if (now?.value.incarnation !== incarnation) onOther();
    },
  });
  return () => table.close();
}
