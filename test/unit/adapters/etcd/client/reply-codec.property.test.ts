import { Etcd3 } from 'etcd3';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { encodeTxnReply, encodeWatchReply } from '../../../../../src/adapters/etcd/client/reply-codec.ts';
import { decodeTxnReply } from '../../../../../src/adapters/etcd/client/txn-codec.ts';
import type { WatchEvent } from '../../../../../src/adapters/etcd/client/watch-codec.ts';
import { decodeWatchReply } from '../../../../../src/adapters/etcd/client/watch-codec.ts';
import type { Change, Entry } from '../../../../../src/ports/cell-store.ts';

/** The client's own codec, made from etcd's definitions: what we write must be no nonsense to it either. */
class Definitions extends Etcd3 {
  read(bytes: Buffer): Promise<{ responses: readonly { response: string }[] }> {
    return this.pool.withConnection('KV', ({ client }) => {
      const { txn } = client as unknown as {
        txn: { responseDeserialize: (bytes: Buffer) => { responses: readonly { response: string }[] } };
      };
      return txn.responseDeserialize(bytes);
    });
  }
}
const definitions = new Definitions({ hosts: 'http://127.0.0.1:1' });
afterAll(() => definitions.close());

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 80 }), fc.string({ maxLength: 400 }));
const revision = fc.integer({ min: 1, max: 2 ** 40 });
const entry: fc.Arbitrary<Entry> = fc.record({
  ...{ key: text, value: text, createRevision: revision, modRevision: revision },
});

it('a reply to a transaction that was done is read as it was written', async () => {
  await fc.assert(
    fc.asyncProperty(revision, fc.nat(300), async (at, writes) => {
      const bytes = encodeTxnReply(true, at, writes, []);
      expect(decodeTxnReply(bytes)).toEqual({
        ...{ header: { cluster: '1', revision: at }, succeeded: true, found: new Map() },
      });
      expect((await definitions.read(bytes)).responses.map(({ response }) => response)).toEqual(
        new Array(writes).fill('response_put'),
      );
    }),
  );
});

it('what was read back is read as it was written', () => {
  const entries = fc.uniqueArray(entry, { selector: ({ key }) => key, maxLength: 40 });
  fc.assert(
    fc.property(revision, entries, (at, found) => {
      const reply = decodeTxnReply(encodeTxnReply(false, at, 0, found));
      expect(reply.succeeded).toBe(false);
      expect(reply.header.revision).toBe(at);
      expect([...reply.found.values()]).toEqual(found);
    }),
  );
});

it('the changes of several revisions are read as they were written', () => {
  const change: fc.Arbitrary<Change> = fc.oneof(
    entry.map((put): Change => ({ kind: 'put', entry: put })),
    text.map((key): Change => ({ kind: 'delete', key })),
  );
  const revisions = fc.array(fc.record({ revision, changes: fc.array(change, { maxLength: 20 }) }), {
    minLength: 1,
    maxLength: 5,
  });
  fc.assert(
    fc.property(fc.nat(5), revisions, (watchId, sent) => {
      const reply = decodeWatchReply(encodeWatchReply(watchId, sent));
      expect(reply.watchId).toBe(watchId);
      expect(reply.revision).toBe(sent[sent.length - 1]?.revision);
      const events: WatchEvent[] = [];
      reply.readEvents(
        () => false,
        (one) => events.push(one),
      );
      expect(events).toEqual(
        sent.flatMap(({ revision: at, changes }) =>
          changes.map((one) =>
            one.kind === 'put'
              ? { isDelete: false, entry: one.entry }
              : { isDelete: true, entry: { key: one.key, value: '', createRevision: 0, modRevision: at } },
          ),
        ),
      );
    }),
  );
});
