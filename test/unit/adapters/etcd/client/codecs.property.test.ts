import { Etcd3 } from 'etcd3';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { decodeTxnReply, encodeTxn } from '../../../../../src/adapters/etcd/client/txn-codec.ts';
import type { WatchEvent } from '../../../../../src/adapters/etcd/client/watch-codec.ts';
import { decodeWatchReply, encodeWatch } from '../../../../../src/adapters/etcd/client/watch-codec.ts';
import type { Attempt, Entry, Session } from '../../../../../src/ports/cell-store.ts';

/** The client's own codecs, made from etcd's definitions, are what ours are held against. */
interface Method {
  readonly requestDeserialize: (bytes: Buffer) => unknown;
  readonly responseSerialize: (message: object) => Buffer;
}
class Definitions extends Etcd3 {
  method(service: 'KV' | 'Watch', name: string): Promise<Method> {
    return this.pool.withConnection(
      service,
      ({ client }) => (client as unknown as Record<string, Method>)[name] as Method,
    );
  }
}
const definitions = new Definitions({ hosts: 'http://127.0.0.1:1' });
const txn = await definitions.method('KV', 'txn');
const watch = await definitions.method('Watch', 'watch');
afterAll(() => definitions.close());

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.string({ unit: 'grapheme-ascii', maxLength: 400 }),
);
const revision = fc.oneof(fc.maxSafeNat(), fc.nat(300), fc.constantFrom(0, 2 ** 31, 2 ** 32, 2 ** 35 - 1));
const bigNumber = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);
const lease = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map(String);
const session = lease.map((id) => ({ id }) as Session);
const attempt: fc.Arbitrary<Attempt> = fc.record({
  compares: fc.array(
    fc.record({
      key: text,
      target: fc.constantFrom('modRevision' as const, 'createRevision' as const),
      equals: revision,
    }),
    { maxLength: 130 },
  ),
  writes: fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('put' as const), key: text, value: text }),
      fc.record({ kind: fc.constant('put' as const), key: text, value: text, session }),
      fc.record({ kind: fc.constant('delete' as const), key: text }),
    ),
    { maxLength: 130 },
  ),
  // Prefixes end in a plain character.
  empty: fc.array(
    text.map((folder) => `${folder}/`),
    { maxLength: 10 },
  ),
  readBack: fc.array(text, { maxLength: 130 }),
});
const entry: fc.Arbitrary<Entry> = fc.record({
  ...{ key: text, value: text, createRevision: revision, modRevision: revision },
});
const header = fc.record({
  ...{ cluster_id: bigNumber, member_id: bigNumber, revision: revision.map(String), raft_term: bigNumber },
});

const bytes = (value: string): Buffer => Buffer.from(value);
const keyValueOf = (one: Entry): object => ({
  ...{ key: bytes(one.key), value: bytes(one.value), version: '3', lease: '77' },
  ...{ create_revision: String(one.createRevision), mod_revision: String(one.modRevision) },
});

describe('transactions on the wire', () => {
  it('etcd reads of a request what the attempt says', () => {
    fc.assert(
      fc.property(attempt, (made) => {
        const read = txn.requestDeserialize(encodeTxn(made)) as Record<string, object[]>;
        expect(read['compare'] ?? []).toMatchObject([
          ...made.compares.map(({ key, target, equals }) => ({
            ...{ key: bytes(key), result: 'Equal' },
            ...(target === 'modRevision'
              ? { target: 'Mod', target_union: 'mod_revision', mod_revision: String(equals) }
              : { target: 'Create', target_union: 'create_revision', create_revision: String(equals) }),
          })),
          ...(made.empty ?? []).map((prefix) => ({
            ...{ key: bytes(prefix), range_end: bytes(`${prefix.slice(0, -1)}0`), result: 'Equal' },
            ...{ target: 'Create', target_union: 'create_revision', create_revision: '0' },
          })),
        ]);
        expect(read['success'] ?? []).toMatchObject(
          made.writes.map((write) =>
            write.kind === 'delete'
              ? {
                  request: 'request_delete_range',
                  request_delete_range: { key: bytes(write.key), prev_kv: false },
                }
              : {
                  request: 'request_put',
                  request_put: {
                    ...{ key: bytes(write.key), value: bytes(write.value), prev_kv: false },
                    lease: write.session?.id ?? '0',
                  },
                },
          ),
        );
        expect(read['failure'] ?? []).toMatchObject(
          made.readBack.map((key) => ({
            request: 'request_range',
            request_range: { key: bytes(key), limit: '0', revision: '0' },
          })),
        );
      }),
    );
  });

  it('we read of a reply what etcd says', () => {
    fc.assert(
      fc.property(header, fc.boolean(), fc.array(fc.option(entry), { maxLength: 70 }), (head, won, found) => {
        const responses = found.map((one) =>
          won
            ? { response_put: { header: { revision: head.revision } } }
            : { response_range: { header: {}, kvs: one === null ? [] : [keyValueOf(one)], count: '1' } },
        );
        const reply = decodeTxnReply(txn.responseSerialize({ header: head, succeeded: won, responses }));
        expect(reply).toEqual({
          header: { cluster: head.cluster_id, revision: Number(head.revision) },
          succeeded: won,
          found: new Map(won ? [] : found.flatMap((one) => (one === null ? [] : [[one.key, one]]))),
        });
      }),
    );
  });

  it('a reply that is cut short is a fault, not a shorter reply', () => {
    const whole = txn.responseSerialize({ header: { cluster_id: '9', revision: '300' }, succeeded: true });
    for (let size = 1; size < whole.length - 2; size++)
      expect(() => decodeTxnReply(whole.subarray(0, size))).toThrow(RangeError);
  });
});

describe('watches on the wire', () => {
  it('etcd reads of a request what was asked', () => {
    fc.assert(
      fc.property(text, fc.option(text), fc.option(revision), fc.nat(9), (key, rangeEnd, from, watchId) => {
        const request = {
          ...{ watchId, key },
          ...(rangeEnd === null ? {} : { rangeEnd }),
          ...(from === null ? {} : { fromRevision: from }),
        };
        expect(watch.requestDeserialize(encodeWatch(request))).toMatchObject({
          request_union: 'create_request',
          create_request: {
            ...{ key: bytes(key), range_end: bytes(rangeEnd ?? '') },
            ...{ start_revision: String(from ?? 0), watch_id: String(watchId), prev_kv: false },
            fragment: true,
          },
        });
      }),
    );
  });

  it('we read of a reply what etcd says', () => {
    const event = fc.record({ isDelete: fc.boolean(), entry });
    fc.assert(
      fc.property(
        ...[header, fc.nat(9), fc.boolean(), revision, fc.array(event, { maxLength: 70 }), fc.boolean()],
        (head, watchId, canceled, compactRevision, events, fragment) => {
          const message = {
            ...{ header: head, watch_id: String(watchId), created: true, canceled, cancel_reason: 'why' },
            ...{ compact_revision: String(compactRevision), fragment },
            events: events.map(({ isDelete, entry: one }) => ({
              ...{ type: isDelete ? 'Delete' : 'Put', kv: keyValueOf(one), prev_kv: keyValueOf(one) },
            })),
          };
          const { readEvents, ...reply } = decodeWatchReply(watch.responseSerialize(message));
          expect(reply).toEqual({
            ...{ watchId, canceled, compactRevision, revision: Number(head.revision) },
            ...{ hasEvents: events.length > 0, isFragment: fragment },
          });
          const isKnown = (known: number): boolean => known % 3 === 0;
          for (const skips of [(): boolean => false, isKnown]) {
            const read: WatchEvent[] = [];
            readEvents(skips, (one) => read.push(one));
            expect(read).toEqual(events.filter(({ entry: { modRevision } }) => !skips(modRevision)));
          }
        },
      ),
    );
  });
});
