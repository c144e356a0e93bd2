import type { Entry } from '../../ports/cell-store.ts';
import { fieldSize, ProtoReader, ProtoWriter, tagOf, varintSize } from './protobuf.ts';
import { NO_HEADER, readEntry, readHeader } from './txn-codec.ts';

/** `WatchCreateRequest`: a range of keys, or one key. */
export interface WatchRequest {
  readonly watchId: number;
  readonly key: string;
  /** The first key behind the range; absent: `key` alone. */
  readonly rangeEnd?: string;
  /** Absent: from now on. */
  readonly fromRevision?: number;
}

export interface WatchReply {
  readonly watchId: number;
  readonly canceled: boolean;
  /** Not 0: what was asked for is no longer kept; the oldest revision that is. */
  readonly compactRevision: number;
  /** The store's, when it sent this. */
  readonly revision: number;
  readonly events: readonly WatchEvent[];
  /** More of the same comes with the next reply: the last revision here may not be whole. */
  readonly isFragment: boolean;
}

export interface WatchEvent {
  readonly isDelete: boolean;
  /** Of a deletion only the key and the revision. */
  readonly entry: Entry;
}

const CREATE = tagOf(1, 'bytes');
const REQUEST = {
  key: tagOf(1, 'bytes'),
  rangeEnd: tagOf(2, 'bytes'),
  startRevision: tagOf(3, 'varint'),
  watchId: tagOf(7, 'varint'),
  fragment: tagOf(8, 'varint'),
};
const NO_EVENTS: readonly WatchEvent[] = Object.freeze([]);

const writer = new ProtoWriter();

/**
 * Always asks for fragments: a watch that catches up is sent a thousand revisions in one reply, which may be more than one
 * message may hold.
 */
export function encodeWatch({ watchId, key, rangeEnd, fromRevision }: WatchRequest): Buffer {
  const keySize = Buffer.byteLength(key);
  const endSize = rangeEnd === undefined ? 0 : Buffer.byteLength(rangeEnd);
  let size = fieldSize(keySize) + 1 + varintSize(watchId) + 2;
  if (rangeEnd !== undefined) size += fieldSize(endSize);
  if (fromRevision !== undefined) size += 1 + varintSize(fromRevision);
  writer.nested(CREATE, size);
  writer.text(REQUEST.key, key, keySize);
  if (rangeEnd !== undefined) writer.text(REQUEST.rangeEnd, rangeEnd, endSize);
  if (fromRevision !== undefined) writer.varint(REQUEST.startRevision, fromRevision);
  writer.varint(REQUEST.watchId, watchId);
  writer.varint(REQUEST.fragment, 1);
  return writer.take();
}

/** @throws RangeError when the bytes are no `WatchResponse` */
export function decodeWatchReply(bytes: Buffer): WatchReply {
  const reader = new ProtoReader(bytes);
  let { revision } = NO_HEADER;
  let watchId = 0;
  let canceled = false;
  let compactRevision = 0;
  let isFragment = false;
  let events: WatchEvent[] | null = null;
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) revision = readHeader(reader).revision;
    else if (field === 2) watchId = reader.number();
    else if (field === 4) canceled = reader.number() !== 0;
    else if (field === 5) compactRevision = reader.number();
    else if (field === 7) isFragment = reader.number() !== 0;
    else if (field === 11) (events ??= []).push(readEvent(reader));
    else reader.skip();
  }
  return { watchId, canceled, compactRevision, revision, events: events ?? NO_EVENTS, isFragment };
}

function readEvent(reader: ProtoReader): WatchEvent {
  const outer = reader.enter();
  let isDelete = false;
  let entry: Entry = NO_ENTRY;
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) isDelete = reader.number() === 1;
    else if (field === 2) entry = readEntry(reader);
    else reader.skip();
  }
  reader.leave(outer);
  return { isDelete, entry };
}

const NO_ENTRY: Entry = { key: '', value: '', createRevision: 0, modRevision: 0 };
