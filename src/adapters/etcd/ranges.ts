import type { Etcd3, IKeyValue, IRangeResponse } from 'etcd3';
import type { Entry, Snapshot } from '../../ports/cell-store.ts';
import type { OnReply } from '../store/identity.ts';
import type { DirectEtcd } from './client/direct-client.ts';
import { isMessageTooLarge } from './client/faults.ts';
import type { ListReply } from './client/txn-codec.ts';
import { encodeLists, endOf, headerOf } from './client/txn-codec.ts';

/** Pages of 1,000 cost twice as much in all as pages of 10,000 and more. */
const PAGE_KEYS_MAX = 20_000;

interface KeyRange {
  readonly key: Buffer;
  readonly range_end: Buffer;
}

/** All keys that begin with the prefix, which ends in a character below U+007F. */
function prefixRange(prefix: string): KeyRange {
  return { key: Buffer.from(prefix), range_end: Buffer.from(endOf(prefix)) };
}

function entryOf(kv: IKeyValue): Entry {
  return {
    key: kv.key.toString(),
    value: kv.value.toString(),
    createRevision: Number(kv.create_revision),
    modRevision: Number(kv.mod_revision),
  };
}

/** Everything under the prefix at one revision, in pages. */
export async function listPages(
  etcd: Etcd3,
  prefix: string,
  onReply: OnReply,
  options: { readonly pageKeysMax?: number | undefined; readonly atRevision?: number | undefined } = {},
): Promise<Snapshot> {
  const { key, range_end } = prefixRange(prefix);
  const entries = new Map<string, Entry>();
  let from = key;
  let limit = options.pageKeysMax ?? PAGE_KEYS_MAX;
  let revision = options.atRevision ?? 0;
  for (;;) {
    let reply: IRangeResponse;
    try {
      // Revision 0 asks for the newest; all further pages are of the revision that the first one had.
      reply = await etcd.kv.range({ key: from, range_end, limit, revision });
    } catch (error) {
      if (!isMessageTooLarge(error) || limit === 1) throw error;
      limit = Math.ceil(limit / 2);
      continue;
    }
    onReply(headerOf(reply));
    if (revision === 0) revision = Number(reply.header.revision);
    for (const kv of reply.kvs) {
      const entry = entryOf(kv);
      entries.set(entry.key, entry);
    }
    const last = reply.kvs[reply.kvs.length - 1];
    if (last === undefined || !reply.more) return { revision, entries };
    from = Buffer.concat([last.key, ZERO]);
  }
}

/** A list of more keys than this is read again in pages: a reply holds many lists, and must stay below its limit. */
const SHORT_KEYS_MAX = 64;

/** Everything under each of the prefixes, many of them in one transaction. */
export async function listShort(
  etcd: DirectEtcd,
  prefixes: readonly string[],
  operationsMax: number,
  onReply: OnReply,
): Promise<readonly Snapshot[]> {
  const lists: Snapshot[] = [];
  for (let at = 0; at < prefixes.length; at += operationsMax) {
    const part = prefixes.slice(at, at + operationsMax);
    const request = encodeLists(
      part.map((prefix) => ({ from: prefix, to: endOf(prefix) })),
      SHORT_KEYS_MAX,
    );
    let replies: readonly ListReply[] | null;
    let revision = 0;
    try {
      const reply = await etcd.lists(request);
      onReply(reply.header);
      revision = reply.header.revision;
      replies = reply.lists;
    } catch (error) {
      if (!isMessageTooLarge(error)) throw error;
      replies = null;
    }
    for (const [i, prefix] of part.entries()) {
      const list = replies?.[i];
      // A long list is read again later than the rest of its part; the lists after it must be read after that.
      if (list === undefined || list.more) replies = null;
      if (replies === null || list === undefined) lists.push(await listPages(etcd, prefix, onReply));
      else lists.push({ revision, entries: list.entries });
    }
  }
  return lists;
}

/** Reads keys one by one in one transaction, or several of the same revision. @param atRevision 0: the newest */
export async function readKeys(
  etcd: Etcd3,
  keys: readonly string[],
  operationsMax: number,
  onReply: OnReply,
  atRevision = 0,
): Promise<Snapshot> {
  const entries = new Map<string, Entry>();
  let revision = atRevision;
  for (let at = 0; at === 0 || at < keys.length; at += operationsMax) {
    const success = keys
      .slice(at, at + operationsMax)
      .map((key) => ({ request_range: { key: Buffer.from(key), revision } }));
    // A transaction without operations would not be answered with a current revision.
    if (success.length === 0) success.push({ request_range: { key: ZERO, revision } });
    const reply = await etcd.kv.txn({ success });
    onReply(headerOf(reply));
    if (revision === 0) revision = Number(reply.header.revision);
    for (const { response_range } of reply.responses) {
      const kv = response_range.kvs[0];
      if (kv !== undefined) entries.set(kv.key.toString(), entryOf(kv));
    }
  }
  return { revision, entries };
}

const ZERO = Buffer.from([0]);
