import type { Attempt, Compare, Entry, Write } from '../../../ports/cell-store.ts';
import type { StoreHeader } from '../../store/identity.ts';
import {
  decimalBytes,
  fieldSize,
  ProtoReader,
  ProtoWriter,
  tagOf,
  textSize,
  varintSize,
} from './protobuf.ts';

/** Field tags of etcd's `rpc.proto`. */
const TXN = { compare: tagOf(1, 'bytes'), success: tagOf(2, 'bytes'), failure: tagOf(3, 'bytes') };
const COMPARE = {
  target: tagOf(2, 'varint'),
  key: tagOf(3, 'bytes'),
  createRevision: tagOf(5, 'varint'),
  modRevision: tagOf(6, 'varint'),
  /** Its tag takes two bytes. */
  end: tagOf(64, 'bytes'),
};
/** `CompareTarget`. The result, `Equal`, is 0 and needs no byte. */
const TARGET = { createRevision: 1, modRevision: 2 };
const OPERATION = { range: tagOf(1, 'bytes'), put: tagOf(2, 'bytes'), deleteRange: tagOf(3, 'bytes') };
/** Of ranges, puts and deletes alike. */
const KEY = tagOf(1, 'bytes');
const PUT = { value: tagOf(2, 'bytes'), lease: tagOf(3, 'varint') };

const RANGE = { end: tagOf(2, 'bytes'), limit: tagOf(3, 'varint') };

const writer = new ProtoWriter();

/** The attempt as a `TxnRequest`: if all compares hold then the writes, else the read-backs. */
export function encodeTxn({ compares, empty, writes, readBack }: Attempt): Buffer {
  for (const compare of compares) writeCompare(compare);
  for (const prefix of empty ?? []) writeEmpty(prefix);
  for (const write of writes) writeOperation(write);
  for (const key of readBack) {
    const keySize = textSize(key);
    const size = fieldSize(keySize);
    writer.nested(TXN.failure, fieldSize(size));
    writer.nested(OPERATION.range, size);
    writer.text(KEY, key, keySize);
  }
  return writer.take();
}

function writeCompare({ key, target, equals }: Compare): void {
  const keySize = textSize(key);
  writer.nested(TXN.compare, 2 + fieldSize(keySize) + 1 + varintSize(equals));
  writer.varint(COMPARE.target, TARGET[target]);
  writer.text(COMPARE.key, key, keySize);
  writer.varint(COMPARE[target], equals);
}

/** Every key of the range was created at revision 0: there is none. */
function writeEmpty(prefix: string): void {
  checkEnd(prefix);
  // The end differs from the prefix by its last character alone, which is a plain one.
  const size = textSize(prefix);
  writer.nested(TXN.compare, 2 + fieldSize(size) + 2 + 1 + fieldSize(size));
  writer.varint(COMPARE.target, TARGET.createRevision);
  writer.text(COMPARE.key, prefix, size);
  writer.varint(COMPARE.createRevision, 0);
  writer.text(COMPARE.end, prefix, size);
  writer.bumpLast();
}

function writeOperation(write: Write): void {
  const keySize = textSize(write.key);
  if (write.kind === 'delete') {
    const size = fieldSize(keySize);
    writer.nested(TXN.success, fieldSize(size));
    writer.nested(OPERATION.deleteRange, size);
    writer.text(KEY, write.key, keySize);
    return;
  }
  const valueSize = textSize(write.value);
  const lease = write.session === undefined ? null : decimalBytes(write.session.id);
  const size = fieldSize(keySize) + fieldSize(valueSize) + (lease === null ? 0 : 1 + lease.length);
  writer.nested(TXN.success, fieldSize(size));
  writer.nested(OPERATION.put, size);
  writer.text(KEY, write.key, keySize);
  writer.text(PUT.value, write.value, valueSize);
  if (lease !== null) writer.decimal(PUT.lease, lease);
}

export interface TxnReply {
  readonly header: StoreHeader;
  readonly succeeded: boolean;
  /** What was read back when a compare failed. */
  readonly found: ReadonlyMap<string, Entry>;
}

/**
 * Reads a `TxnResponse`. The responses to the writes of a successful one are skipped.
 * @throws RangeError when it is none
 */
export function decodeTxnReply(bytes: Buffer): TxnReply {
  const reader = new ProtoReader(bytes);
  let header = NO_HEADER;
  let succeeded = false;
  let found: Map<string, Entry> | null = null;
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) header = readHeader(reader);
    else if (field === 2) succeeded = reader.number() !== 0;
    else if (field === 3 && !succeeded) readRange(reader, (found ??= new Map<string, Entry>()));
    else reader.skip();
  }
  return { header, succeeded, found: succeeded || found === null ? NOTHING : found };
}

const NOTHING: ReadonlyMap<string, Entry> = new Map();

export const NO_HEADER: StoreHeader = { cluster: '0', revision: 0 };

/** An answer as the client decodes it. */
export interface ReplyHeader {
  readonly header: { readonly cluster_id: string; readonly revision: string };
}

export function headerOf({ header }: ReplyHeader): StoreHeader {
  return { cluster: header.cluster_id, revision: Number(header.revision) };
}

export function readHeader(reader: ProtoReader): StoreHeader {
  const outer = reader.enter();
  let { cluster, revision } = NO_HEADER;
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) cluster = reader.decimal();
    else if (field === 3) revision = reader.number();
    else reader.skip();
  }
  reader.leave(outer);
  return { cluster, revision };
}

/** The first key after all those with the prefix. */
export function endOf(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(checkEnd(prefix) + 1);
}

/** @returns the last character's code, which has a next one of the same size */
function checkEnd(prefix: string): number {
  const last = prefix.charCodeAt(prefix.length - 1);
  if (last < 0x7f) return last;
  throw new Error(`prefix ${JSON.stringify(prefix)} does not end in a plain character`);
}

/** A list of what lies in each of the ranges, as one `TxnRequest`. @param limit keys of one list */
export function encodeLists(ranges: readonly KeyRange[], limit: number): Buffer {
  for (const { from, to } of ranges) {
    const fromSize = textSize(from);
    const toSize = textSize(to);
    const size = fieldSize(fromSize) + fieldSize(toSize) + 1 + varintSize(limit);
    writer.nested(TXN.success, fieldSize(size));
    writer.nested(OPERATION.range, size);
    writer.text(KEY, from, fromSize);
    writer.text(RANGE.end, to, toSize);
    writer.varint(RANGE.limit, limit);
  }
  return writer.take();
}

export interface KeyRange {
  readonly from: string;
  /** The first key behind the range. */
  readonly to: string;
}

export interface ListsReply {
  readonly header: StoreHeader;
  readonly lists: readonly ListReply[];
}

export interface ListReply {
  readonly entries: ReadonlyMap<string, Entry>;
  /** There are more keys in the range than the limit. */
  readonly more: boolean;
}

/** @throws RangeError when the bytes are no `TxnResponse` */
export function decodeListsReply(bytes: Buffer): ListsReply {
  const reader = new ProtoReader(bytes);
  let header = NO_HEADER;
  const lists: ListReply[] = [];
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) header = readHeader(reader);
    else if (field === 3) {
      const entries = new Map<string, Entry>();
      lists.push({ entries, more: readRange(reader, entries) });
    } else reader.skip();
  }
  return { header, lists };
}

/** One `ResponseOp` with a `RangeResponse`, into `entries`. @returns there are more keys in the range */
function readRange(reader: ProtoReader, entries: Map<string, Entry>): boolean {
  let more = false;
  const outside = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field !== 1) {
      reader.skip();
      continue;
    }
    const outer = reader.enter();
    for (let inner = reader.next(); inner !== 0; inner = reader.next()) {
      if (inner === 2) {
        const entry = readEntry(reader, KEEP_ALL);
        if (entry !== null) entries.set(entry.key, entry);
      } else if (inner === 3) more = reader.number() !== 0;
      else reader.skip();
    }
    reader.leave(outer);
  }
  reader.leave(outside);
  return more;
}

const KEEP_ALL = (): boolean => false;

/**
 * One `KeyValue`; its texts are not decoded when it is left out.
 * @param skips called with its revision: true leaves it out
 * @returns null when it is left out
 */
export function readEntry(reader: ProtoReader, skips: (revision: number) => boolean): Entry | null {
  const outer = reader.enter();
  let key = NOWHERE;
  let value = NOWHERE;
  let createRevision = 0;
  let modRevision = 0;
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) key = reader.passText();
    else if (field === 2) createRevision = reader.number();
    else if (field === 3) modRevision = reader.number();
    else if (field === 5) value = reader.passText();
    else reader.skip();
  }
  const entry = skips(modRevision)
    ? null
    : { key: textAt(reader, key), value: textAt(reader, value), createRevision, modRevision };
  reader.leave(outer);
  return entry;
}

function textAt(reader: ProtoReader, place: number): string {
  return place === NOWHERE ? '' : reader.textAt(place);
}

const NOWHERE = -1;
