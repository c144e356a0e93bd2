import { expect, it } from 'vitest';
import { MemoryCell } from '../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../src/adapters/memory/cell-store.ts';
import { cellKeys } from '../../../src/core/keys.ts';
import { EMPTY_LEDGER, withClaim } from '../../../src/core/ledger.ts';
import { LedgerBook } from '../../../src/core/ledger-book.ts';
import { LedgerFeed, readerOf } from '../../../src/runtime/ledger-feed.ts';
import { ledgerCodec } from '../../../src/wire/records.ts';
import { testAllocation } from '../../support/commit-world.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';

const keys = cellKeys('test');

it('the ledger feed tells of what the book does not know yet, and of nothing twice', async () => {
  const clock = new ManualClock();
  const cell = new MemoryCell({ clock });
  const store = new MemoryCellStore({ clock, cell });
  const far = new MemoryCellStore({ clock, cell });
  const book = new LedgerBook();
  const told: string[] = [];
  const feed = new LedgerFeed(far, keys, book, {
    onLedger: (host) => told.push(`${host}@${String(book.get(host).revision)}`),
    onBadRecord: (error, key) => told.push(`bad ${key}: ${error.kind}`),
  });
  const write = async (host: string, value: string | null): Promise<number> => {
    const key = keys.ledger(host);
    const change =
      value === null ? ({ kind: 'delete', key } as const) : ({ kind: 'put', key, value } as const);
    await store.attempt({ compares: [], writes: [change], readBack: [] });
    return cell.revision;
  };
  await feed.ready;
  const used = withClaim(EMPTY_LEDGER, testAllocation('a', 'h1'));
  const first = await write('h1', ledgerCodec.encode(used));
  await settle();
  expect(told).toEqual([`h1@${String(first)}`]);
  expect(book.get('h1').ledger).toEqual(used);

  // Known from the reply to a commit before the watch tells it.
  book.observe('h1', EMPTY_LEDGER, first + 1);
  await write('h1', '{"v":1}');
  await settle();
  expect(told).toHaveLength(1);

  far.cutOff();
  await write('h1', null);
  const second = await write('h2', '{"v":1}');
  await write('h3', 'garbage');
  far.reconnect();
  await settle();
  expect(told.slice(1)).toEqual(['h1@0', `h2@${String(second)}`, `bad ${keys.ledger('h3')}: ledger`]);
  await write('h2', null);
  await settle();
  expect(told.slice(4)).toEqual(['h2@0']);
  feed.close();
});

it('the ledger feed knows what we are writing by its text, and reads anything else', async () => {
  const clock = new ManualClock();
  const store = new MemoryCellStore({ clock });
  const book = new LedgerBook();
  const feed = new LedgerFeed(store, keys, book, { onLedger: () => undefined });
  await feed.ready;
  const ours = withClaim(EMPTY_LEDGER, testAllocation('a', 'h1'));
  const theirs = withClaim(ours, testAllocation('b', 'h1'));
  const write = async (value: string): Promise<void> => {
    const writes = [{ kind: 'put', key: keys.ledger('h1'), value }] as const;
    await store.attempt({ compares: [], writes, readBack: [] });
    await settle();
  };
  book.sending('h1', ours, ledgerCodec.encode(ours));
  await write(ledgerCodec.encode(ours));
  expect(book.get('h1').ledger).toBe(ours);
  await write(ledgerCodec.encode(theirs));
  expect(book.get('h1').ledger).toEqual(theirs);
  book.sent('h1');
  await write(ledgerCodec.encode(ours));
  expect(book.get('h1').ledger).toEqual(ours);
  expect(book.get('h1').ledger).not.toBe(ours);
  feed.close();
});

it('the ledger feed leaves unread what nobody asked for, but no verdict', async () => {
  const clock = new ManualClock();
  const store = new MemoryCellStore({ clock });
  const bad: string[] = [];
  const book = new LedgerBook(readerOf(keys, (_error, key) => bad.push(key)));
  const told: string[] = [];
  let mayWait = true;
  const feed = new LedgerFeed(store, keys, book, {
    onLedger: (host) => told.push(`read ${host}`),
    onUnread: (host) => told.push(`unread ${host}`),
    mayWait: () => mayWait,
  });
  await feed.ready;
  const write = async (host: string, value: string): Promise<string[]> => {
    await store.attempt({
      compares: [],
      writes: [{ kind: 'put', key: keys.ledger(host), value }],
      readBack: [],
    });
    await settle();
    return told.splice(0);
  };
  const one = withClaim(EMPTY_LEDGER, testAllocation('a', 'h1'));
  const two = withClaim(one, testAllocation('b', 'h1'));
  expect(await write('h1', '{"v":1}')).toEqual(['read h1']);
  expect(await write('h1', ledgerCodec.encode(one))).toEqual(['unread h1']);
  expect(book.peek('h1').ledger).toEqual(EMPTY_LEDGER);
  // Told once: nobody has read it since.
  expect(await write('h1', ledgerCodec.encode(two))).toEqual([]);
  expect(book.get('h1').ledger).toEqual(two);
  expect(book.revisionOf('h1')).toBe(book.get('h1').revision);
  // A verdict, and the end of one.
  expect(await write('h1', ledgerCodec.encode({ ...two, state: 'draining' }))).toEqual(['read h1']);
  expect(await write('h1', ledgerCodec.encode(two))).toEqual(['read h1']);
  mayWait = false;
  expect(await write('h1', ledgerCodec.encode(one))).toEqual(['read h1']);
  mayWait = true;
  expect(await write('h1', 'garbage')).toEqual(['unread h1']);
  expect(book.get('h1').ledger).toEqual(one);
  expect(bad).toEqual([keys.ledger('h1')]);
  // A reply that is older than what is put by changes nothing; a newer one takes its place.
  await write('h1', ledgerCodec.encode(two));
  expect(book.observe('h1', EMPTY_LEDGER, book.revisionOf('h1') - 1)).toBe(false);
  const newer = book.revisionOf('h1') + 5;
  expect(book.observe('h1', EMPTY_LEDGER, newer)).toBe(true);
  expect(book.get('h1')).toEqual({ ledger: EMPTY_LEDGER, revision: newer });
  feed.close();
});
