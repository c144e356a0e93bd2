import type { Change, Entry } from '../../../ports/cell-store.ts';
import { fieldSize, ProtoWriter, tagOf, textSize, varintSize } from './protobuf.ts';

/** Field tags of etcd's `rpc.proto` and `kv.proto`, as far as a server's answers need them. */
const HEADER = tagOf(1, 'bytes');
const HEADER_CLUSTER = tagOf(1, 'varint');
const HEADER_REVISION = tagOf(3, 'varint');
const TXN = { succeeded: tagOf(2, 'varint'), responses: tagOf(3, 'bytes') };
const RESPONSE = { range: tagOf(1, 'bytes'), put: tagOf(2, 'bytes') };
const RANGE_KVS = tagOf(2, 'bytes');
const WATCH = { id: tagOf(2, 'varint'), events: tagOf(11, 'bytes') };
const EVENT = { type: tagOf(1, 'varint'), kv: tagOf(2, 'bytes') };
const KV = {
  key: tagOf(1, 'bytes'),
  createRevision: tagOf(2, 'varint'),
  modRevision: tagOf(3, 'varint'),
  value: tagOf(5, 'bytes'),
};
const CLUSTER = 1;
const DELETE = 1;

const writer = new ProtoWriter();

/**
 * A server's reply to a transaction: a `TxnResponse`, for `decodeTxnReply`.
 * @param writes how many were done; each has a response
 * @param found what was read back when a compare failed
 */
export function encodeTxnReply(
  succeeded: boolean,
  revision: number,
  writes: number,
  found: Iterable<Entry>,
): Buffer {
  writeHeader(revision);
  if (succeeded) {
    writer.varint(TXN.succeeded, 1);
    const inner = headerSize(revision);
    for (let n = 0; n < writes; n++) {
      writer.nested(TXN.responses, fieldSize(inner));
      writer.nested(RESPONSE.put, inner);
      writeHeader(revision);
    }
    return writer.take();
  }
  for (const entry of found) {
    const range = fieldSize(entrySize(entry));
    writer.nested(TXN.responses, fieldSize(range));
    writer.nested(RESPONSE.range, range);
    writer.nested(RANGE_KVS, entrySize(entry));
    writeEntry(entry);
  }
  return writer.take();
}

/** A server's message to a watch: a `WatchResponse`, for `decodeWatchReply`, with the changes of one revision or several. */
export function encodeWatchReply(
  watchId: number,
  revisions: readonly { readonly revision: number; readonly changes: readonly Change[] }[],
): Buffer {
  writeHeader(revisions[revisions.length - 1]?.revision ?? 0);
  writer.varint(WATCH.id, watchId);
  for (const { revision, changes } of revisions) for (const change of changes) writeEvent(change, revision);
  return writer.take();
}

function writeEvent(change: Change, revision: number): void {
  if (change.kind === 'put') {
    const size = entrySize(change.entry);
    writer.nested(WATCH.events, fieldSize(size));
    writer.nested(EVENT.kv, size);
    writeEntry(change.entry);
    return;
  }
  const keySize = textSize(change.key);
  const size = fieldSize(keySize) + 1 + varintSize(revision);
  writer.nested(WATCH.events, 2 + fieldSize(size));
  writer.varint(EVENT.type, DELETE);
  writer.nested(EVENT.kv, size);
  writer.text(KV.key, change.key, keySize);
  writer.varint(KV.modRevision, revision);
}

function headerSize(revision: number): number {
  return fieldSize(1 + varintSize(CLUSTER) + 1 + varintSize(revision));
}

function writeHeader(revision: number): void {
  writer.nested(HEADER, 1 + varintSize(CLUSTER) + 1 + varintSize(revision));
  writer.varint(HEADER_CLUSTER, CLUSTER);
  writer.varint(HEADER_REVISION, revision);
}

function entrySize({ key, value, createRevision, modRevision }: Entry): number {
  const revisions = 1 + varintSize(createRevision) + 1 + varintSize(modRevision);
  return fieldSize(textSize(key)) + revisions + fieldSize(textSize(value));
}

function writeEntry({ key, value, createRevision, modRevision }: Entry): void {
  writer.text(KV.key, key, textSize(key));
  writer.varint(KV.createRevision, createRevision);
  writer.varint(KV.modRevision, modRevision);
  writer.text(KV.value, value, textSize(value));
}
