import type { Entry } from '../../../ports/cell-store.ts';
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
  readonly hasEvents: boolean;
  /** The next reply continues this one: the last revision here may not be whole. */
  readonly isFragment: boolean;
  /**
   * Reads the events, in order.
   * @param skips called with the revision of each: true leaves the event out, without decoding its texts
   * @throws MalformedMessage when the bytes are none
   */
  readonly readEvents: (skips: (revision: number) => boolean, take: (event: WatchEvent) => void) => void;
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

const writer = new ProtoWriter();

/**
 * Always allows fragments: a watch that catches up gets a thousand revisions in one reply, which may exceed the largest
 * message.
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

/**
 * Reads a `WatchResponse`, but for its events.
 * @throws MalformedMessage when the bytes are none
 */
export function decodeWatchReply(bytes: Buffer): WatchReply {
  const reader = new ProtoReader(bytes);
  let { revision } = NO_HEADER;
  let watchId = 0;
  let canceled = false;
  let compactRevision = 0;
  let isFragment = false;
  let hasEvents = false;
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) revision = readHeader(reader).revision;
    else if (field === 2) watchId = reader.number();
    else if (field === 4) canceled = reader.number() !== 0;
    else if (field === 5) compactRevision = reader.number();
    else if (field === 7) isFragment = reader.number() !== 0;
    else {
      hasEvents ||= field === EVENTS;
      reader.skip();
    }
  }
  const readEvents: WatchReply['readEvents'] = (skips, take) => {
    const again = new ProtoReader(bytes);
    for (let field = again.next(); field !== 0; field = again.next()) {
      if (field !== EVENTS) again.skip();
      else readEvent(again, skips, take);
    }
  };
  return { watchId, canceled, compactRevision, revision, hasEvents, isFragment, readEvents };
}

const EVENTS = 11;

function readEvent(
  reader: ProtoReader,
  skips: (revision: number) => boolean,
  take: (event: WatchEvent) => void,
): void {
  const outer = reader.enter();
  let isDelete = false;
  let entry: Entry | null = null;
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) isDelete = reader.number() === 1;
    else if (field === 2) entry = readEntry(reader, skips);
    else reader.skip();
  }
  reader.leave(outer);
  if (entry !== null) take({ isDelete, entry });
}
