import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import { interferenceScalars } from '../../../../src/core/cell/interference.ts';
import { NO_RESOURCES } from '../../../../src/core/cell/resources.ts';
import type { Ledger } from '../../../../src/core/fit/ledger.ts';
import { EMPTY_LEDGER, withClaim } from '../../../../src/core/fit/ledger.ts';
import { LedgerBook } from '../../../../src/core/commit/ledger-book.ts';
import type { Follower, Following } from '../../../../src/ports/cell-store.ts';
import { LedgerFeed, readerOf } from '../../../../src/runtime/records/ledger-feed.ts';
import { ledgerCodec } from '../../../../src/wire/records/records.ts';
import { testAllocation } from '../../../support/commit-world.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';

const keys = cellKeys('test');

it('the ledger feed tells of what the book does not know yet, and of nothing twice', async () => {
  const clock = new ManualClock();
  const cell = new MemoryCell({ clock });
  const store = new MemoryCellStore({ clock, cell });
  const far = new MemoryCellStore({ clock, cell });
  const book = new LedgerBook();
  const seen: string[] = [];
  const feed = new LedgerFeed(far, keys, book, {
    onLedger: (host) => seen.push(`${host}@${String(book.get(host).revision)}`),
    onBadRecord: (error, key) => seen.push(`bad ${key}: ${error.kind}`),
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
  expect(seen).toEqual([`h1@${String(first)}`]);
  expect(book.get('h1').ledger).toEqual(used);

  // Known from the reply to a commit before the watch tells it.
  book.observe('h1', EMPTY_LEDGER, first + 1);
  await write('h1', '{"v":1}');
  await settle();
  expect(seen).toHaveLength(1);

  far.cutOff();
  await write('h1', null);
  const second = await write('h2', '{"v":1}');
  await write('h3', 'garbage');
  far.reconnect();
  await settle();
  expect(seen.slice(1)).toEqual(['h1@0', `h2@${String(second)}`, `bad ${keys.ledger('h3')}: ledger`]);
  await write('h2', null);
  await settle();
  expect(seen.slice(4)).toEqual(['h2@0']);
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

it('the ledger feed defers decoding, but not of a ledger with an eligibility state or with who avoids a class beyond its host', async () => {
  const clock = new ManualClock();
  const store = new MemoryCellStore({ clock });
  const bad: string[] = [];
  const book = new LedgerBook(readerOf(keys, (_error, key) => bad.push(key)));
  const seen: string[] = [];
  let mayWait = true;
  const feed = new LedgerFeed(store, keys, book, {
    onLedger: (host) => seen.push(`read ${host}`),
    onUnread: (host) => seen.push(`unread ${host}`),
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
    return seen.splice(0);
  };
  const one = withClaim(EMPTY_LEDGER, testAllocation('a', 'h1'));
  const two = withClaim(one, testAllocation('b', 'h1'));
  expect(await write('h1', '{"v":1}')).toEqual(['read h1']);
  expect(await write('h1', ledgerCodec.encode(one))).toEqual(['unread h1']);
  expect(book.peek('h1').ledger).toEqual(EMPTY_LEDGER);
  // Called once: it has not been decoded since.
  expect(await write('h1', ledgerCodec.encode(two))).toEqual([]);
  expect(book.get('h1').ledger).toEqual(two);
  expect(book.revisionOf('h1')).toBe(book.get('h1').revision);
  // An eligibility state, and its end.
  expect(await write('h1', ledgerCodec.encode({ ...two, state: 'draining' }))).toEqual(['read h1']);
  expect(await write('h1', ledgerCodec.encode(two))).toEqual(['read h1']);
  const scalars = interferenceScalars({ avoid: [{ class: 'a', over: 'rack' }] }) ?? {};
  const far = withClaim(EMPTY_LEDGER, testAllocation('f', 'h1', { resources: { ...NO_RESOURCES, scalars } }));
  expect(await write('h1', ledgerCodec.encode(far))).toEqual(['read h1']);
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

it('the ledger feed leaves out our own commits, and reports those of other processes', async () => {
  const clock = new ManualClock();
  const cell = new MemoryCell({ clock });
  const store = new MemoryCellStore({ clock, cell });
  const far = new MemoryCellStore({ clock, cell });
  const book = new LedgerBook();
  const seen: string[] = [];
  const feed = new LedgerFeed(far, keys, book, {
    onLedger: (host) => seen.push(`${host}@${String(book.revisionOf(host))}`),
    onBadRecord: (_error, key) => seen.push(`bad ${key}`),
  });
  await feed.ready;
  const write = async (value: string): Promise<number> => {
    const writes = [{ kind: 'put', key: keys.ledger('h1'), value }] as const;
    await store.attempt({ compares: [], writes, readBack: [] });
    return cell.revision;
  };
  const ours = withClaim(EMPTY_LEDGER, testAllocation('a', 'h1'));
  const theirs = withClaim(ours, testAllocation('b', 'h1'));
  const own = cell.revision + 1;
  book.committed(own, book.listings);
  // Had the feed received it, it would have reported a bad record.
  expect(await write('unread')).toBe(own);
  const foreign = await write(ledgerCodec.encode(theirs));
  await settle();
  expect(seen).toEqual([`h1@${String(foreign)}`]);
  expect(book.get('h1').ledger).toEqual(theirs);

  // A store that is listed anew may be one that went back: the same number may be another commit.
  const next = cell.revision + 2;
  const { listings } = book;
  book.committed(next, listings);
  far.cutOff();
  await write(ledgerCodec.encode(ours));
  far.reconnect();
  await settle();
  // Nor does an answer count that comes from the store as it was.
  book.committed(next, listings);
  expect(await write(ledgerCodec.encode(theirs))).toBe(next);
  await settle();
  expect(seen.slice(1)).toEqual([`h1@${String(next - 1)}`, `h1@${String(next)}`]);
  feed.close();
});

it('the ledger feed, with commits known before their echo, after it and never, knows what the store holds', async () => {
  const step = fc.record({
    hosts: fc.uniqueArray(fc.nat(3), { minLength: 1, maxLength: 3 }),
    amount: fc.integer({ min: 1, max: 3 }),
    how: fc.constantFrom('foreign', 'reply-first', 'echo-first', 'no-reply'),
    breaks: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const clock = new ManualClock();
      const cell = new MemoryCell({ clock });
      const store = new MemoryCellStore({ clock, cell });
      const far = new MemoryCellStore({ clock, cell });
      const book = new LedgerBook(readerOf(keys));
      const feed = new LedgerFeed(far, keys, book, { onLedger: () => undefined, onUnread: () => undefined });
      await feed.ready;
      const truth = new Map<string, Ledger>();
      for (const [n, { hosts, amount, how, breaks }] of steps.entries()) {
        const after = hosts.map((number) => {
          const host = `h${String(number)}`;
          let ledger = truth.get(host) ?? EMPTY_LEDGER;
          for (let k = 0; k < amount; k++)
            ledger = withClaim(ledger, testAllocation(`${String(n)}.${String(k)}`, host));
          return { host, ledger, text: ledgerCodec.encode(ledger) };
        });
        for (const { host, ledger, text } of after) {
          truth.set(host, ledger);
          if (how !== 'foreign') book.sending(host, ledger, text);
        }
        const writes = after.map(({ host, text }) => ({
          ...{ kind: 'put' as const, key: keys.ledger(host), value: text },
        }));
        const answered = (): void => {
          for (const { host, ledger } of after) book.observe(host, ledger, cell.revision);
          book.committed(cell.revision, book.listings);
        };
        if (breaks) far.cutOff();
        await store.attempt({ compares: [], writes, readBack: [] });
        if (how === 'reply-first') answered();
        if (breaks) far.reconnect();
        await settle();
        if (how === 'echo-first') answered();
        for (const { host } of after) book.sent(host);
      }
      for (const [host, ledger] of truth) expect(book.get(host).ledger).toEqual(ledger);
      feed.close();
    }),
  );
});

/** Asks of every revision that is left out who made it. */
class WatchedStore extends MemoryCellStore {
  onLeftOut: (revision: number) => void = () => undefined;

  override follow(prefix: string, follower: Follower): Following {
    return super.follow(prefix, {
      onSnapshot: (snapshot) => follower.onSnapshot(snapshot),
      onChanges: (changes, revision) => follower.onChanges(changes, revision),
      knows: (revision) => {
        const isKnown = follower.knows?.(revision) === true;
        if (isKnown) this.onLeftOut(revision);
        return isKnown;
      },
    });
  }
}

interface Sent {
  readonly after: readonly { readonly host: string; readonly ledger: Ledger }[];
  readonly revision: number;
  readonly listings: number;
}

it('the ledger feed leaves out what we wrote ourselves, never what another wrote, also where a store goes back', async () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('own', 'foreign'), host: fc.nat(2) }) },
    {
      weight: 8,
      arbitrary: fc.record({ kind: fc.constantFrom('reply', 'reply', 'deliver'), host: fc.constant(0) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constantFrom('lose', 'list', 'save', 'restore'),
        host: fc.constant(0),
      }),
    },
  );
  const met = { leftOut: 0, lateReplies: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
      const clock = new ManualClock();
      const cell = new MemoryCell({ clock });
      const onTheWay: (() => void)[] = [];
      const far = new WatchedStore({ clock, cell, deliver: (tell) => onTheWay.push(tell) });
      const deliver = (): void => onTheWay.splice(0).forEach((tell) => tell());
      const book = new LedgerBook(readerOf(keys));
      const feed = new LedgerFeed(far, keys, book, { onLedger: () => undefined, onUnread: () => undefined });
      deliver();
      /** Who made each revision of the store as it is now. */
      const makers = new Map<number, string>();
      far.onLeftOut = (revision) => {
        met.leftOut += 1;
        expect(makers.get(revision), `revision ${String(revision)}`).toBe('own');
      };
      let saved = cell.save();
      const sent: Sent[] = [];
      for (const [n, { kind, host: number }] of steps.entries()) {
        const host = `h${String(number)}`;
        if (kind === 'own' || kind === 'foreign') {
          const text = cell.get(keys.ledger(host))?.value;
          const before = text === undefined ? EMPTY_LEDGER : ledgerCodec.decode(text);
          const ledger = withClaim(before, testAllocation(String(n), host));
          const write = { kind: 'put', key: keys.ledger(host), value: ledgerCodec.encode(ledger) } as const;
          const { revision } = cell.apply({ compares: [], writes: [write], readBack: [] });
          makers.set(revision, kind);
          if (kind === 'own') sent.push({ after: [{ host, ledger }], revision, listings: book.listings });
        } else if (kind === 'reply') {
          const answer = sent.shift();
          if (answer === undefined) continue;
          if (answer.revision > cell.revision || makers.get(answer.revision) !== 'own') met.lateReplies += 1;
          for (const { host: at, ledger } of answer.after) book.observe(at, ledger, answer.revision);
          book.committed(answer.revision, answer.listings);
        } else if (kind === 'lose') sent.shift();
        else if (kind === 'deliver') deliver();
        else if (kind === 'save') saved = cell.save();
        else {
          far.cutOff();
          if (kind === 'restore') {
            cell.load(saved);
            for (const revision of makers.keys()) if (revision > cell.revision) makers.delete(revision);
          }
          far.reconnect();
        }
      }
      deliver();
      feed.close();
    }),
    { numRuns: 300 },
  );
  expect(Math.min(met.leftOut, met.lateReplies)).toBeGreaterThan(20);
});
