import type { Revision, StoreError } from '../../ports/cell-store.ts';
import type { OnReply } from '../store/identity.ts';
import type { DirectEtcd } from './client/direct-client.ts';
import { storeErrorOf } from './client/faults.ts';
import { tryEachMember } from './client/members.ts';
import { endOf, headerOf } from './client/txn-codec.ts';
import { WatchStream } from './client/watch-stream.ts';

/** Read ahead of the consumer; beyond it the stream is paused. */
const QUEUE_REVISIONS_MAX = 10_000;
const FIRST_REVISION = 1;
/** Streams that may end without an event, for each member: the client draws a member at random, and may draw a dead one twice. */
const TRIES_A_MEMBER = 3;

/** Connections of their own for calls and for watches. */
export interface HistoryClients {
  readonly calls: DirectEtcd;
  readonly watches: DirectEtcd;
}

/**
 * The past under a prefix, by a watch from an old revision.
 *
 * A watch does not report that it has caught up (a server as old as 3.4.23 answers a progress request too early). So a mark
 * is written at the first key after the prefix, within the watch's range: events come in order, so when the mark comes,
 * everything before it has come.
 *
 * @param members how many the cluster has
 * @param beginCall called before the call that writes the mark
 */
export async function* readHistory(
  { calls, watches }: HistoryClients,
  prefix: string,
  fromRevision: number,
  { members, beginCall }: { readonly members: number; readonly beginCall: () => OnReply },
): AsyncGenerator<Revision, void, undefined> {
  const mark = endOf(prefix);
  const onReply = beginCall();
  const reply = await tryEachMember(members, () =>
    calls.kv.put({ key: Buffer.from(mark), value: Buffer.alloc(0) }),
  );
  onReply(headerOf(reply));
  const markRevision = Number(reply.header.revision);
  const queue: Revision[] = [];
  let wake = (): void => undefined;
  const state: { end: StoreError | null } = { end: null };
  let from = fromRevision;
  let cuts = 0;
  const open = (): WatchStream =>
    new WatchStream({
      etcd: watches,
      range: { from: prefix, to: `${mark}\0` },
      fromRevision: from,
      onRevision: (changes, revision) => {
        queue.push({ revision, changes });
        from = revision + 1;
        cuts = 0;
        if (queue.length > QUEUE_REVISIONS_MAX) stream.pause();
        wake();
      },
      onEnd: (cause) => {
        cuts += 1;
        // The past does not change: another member can send the rest.
        if (cause.code === 'unavailable' && cuts < members * TRIES_A_MEMBER) stream = open();
        else state.end = cause;
        wake();
      },
    });
  let stream = open();
  try {
    for (;;) {
      for (const past of queue.splice(0)) {
        if (past.revision >= markRevision) return;
        const changes = past.changes.filter((change) => keyOf(change).startsWith(prefix));
        if (changes.length > 0) yield { revision: past.revision, changes };
      }
      if (queue.length > 0) continue;
      if (state.end !== null) throw state.end;
      stream.resume();
      await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    stream.close();
    await calls.kv.deleteRange({ key: Buffer.from(mark) }).catch(() => undefined);
  }
}

function keyOf(change: Revision['changes'][number]): string {
  return change.kind === 'put' ? change.entry.key : change.key;
}

/** The first revision after the last compaction: at the compacted revision itself, deletions are gone. */
export async function readOldestRevision(
  { calls, watches }: HistoryClients,
  key: string,
  onReply: OnReply,
): Promise<number> {
  try {
    onReply(headerOf(await calls.kv.range({ key: Buffer.from(key), revision: FIRST_REVISION })));
    return FIRST_REVISION;
  } catch (error) {
    const fault = storeErrorOf(error);
    if (fault.code !== 'compacted') throw fault;
  }
  // Reads do not report which revision was compacted; a watch from too old a revision does.
  return new Promise((resolve, reject) => {
    const stream: WatchStream = new WatchStream({
      etcd: watches,
      range: { from: key, to: `${key}\0` },
      fromRevision: FIRST_REVISION,
      onRevision: () => undefined,
      onEnd: (cause) => {
        if (cause.code === 'compacted') resolve(stream.compactRevision + 1);
        else reject(cause);
      },
    });
  });
}
