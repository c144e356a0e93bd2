import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CellStore, Change, Follower, Revision, Snapshot, Write } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';

export interface StoreUnderTest {
  /** A store, and a second client of the same cell. */
  readonly store: CellStore;
  readonly other: CellStore;
  /** Ends in a slash; nothing else is under it. */
  readonly prefix: string;
  /** Forgets the history before this revision. */
  compact(revision: number): Promise<void>;
  close(): Promise<void>;
}

/** What every cell store must do, in whatever way it does it. */
export function cellStoreContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`S0.8 cell store contract: ${name}`, () => {
    let at: StoreUnderTest;
    beforeEach(async () => (at = await open()));
    afterEach(() => at.close());

    const key = (rest: string): string => at.prefix + rest;
    const put = async (rest: string, value: string): Promise<number> => {
      const reply = await at.store.attempt(unconditional({ kind: 'put', key: key(rest), value }));
      if (reply.outcome !== 'applied') throw new Error(`put was ${reply.outcome}`);
      return reply.revision;
    };
    const remove = async (rest: string): Promise<number> => {
      const reply = await at.store.attempt(unconditional({ kind: 'delete', key: key(rest) }));
      if (reply.outcome !== 'applied') throw new Error(`delete was ${reply.outcome}`);
      return reply.revision;
    };

    it('reads what was written, and leaves absent keys out', async () => {
      const revision = await put('a', 'täxt');
      const snapshot = await at.store.read([key('a'), key('b')]);
      expect([...snapshot.entries.keys()]).toEqual([key('a')]);
      expect(snapshot.entries.get(key('a'))).toEqual({
        key: key('a'),
        value: 'täxt',
        createRevision: revision,
        modRevision: revision,
      });
      expect(snapshot.revision).toBeGreaterThanOrEqual(revision);
      expect((await at.store.read([])).revision).toBeGreaterThanOrEqual(revision);
    });

    it('reads more keys than one transaction holds, at one revision', async () => {
      await put('k250', 'x');
      const keys = Array.from({ length: 300 }, (_, index) => key(`k${String(index)}`));
      const snapshot = await at.store.read(keys);
      expect([...snapshot.entries.keys()]).toEqual([key('k250')]);
    });

    it('counts creations and changes apart', async () => {
      const created = await put('a', '1');
      const changed = await put('a', '2');
      expect((await at.store.read([key('a')])).entries.get(key('a'))).toMatchObject({
        createRevision: created,
        modRevision: changed,
      });
      await remove('a');
      const again = await put('a', '3');
      expect((await at.store.read([key('a')])).entries.get(key('a'))?.createRevision).toBe(again);
    });

    it('lists many prefixes, short and long, in their order', async () => {
      const rooms = Array.from({ length: 150 }, (_, n) => `many/${String(n).padStart(3, '0')}/`);
      const sizes = rooms.map((_, n) => (n === 70 ? 90 : n % 3));
      for (const [n, room] of rooms.entries()) {
        const writes = Array.from({ length: sizes[n] ?? 0 }, (_, i) => ({
          ...{ kind: 'put' as const, key: key(`${room}${String(i)}`), value: room },
        }));
        if (writes.length > 0) await at.store.attempt({ compares: [], writes, readBack: [] });
      }
      const lists = await at.store.listMany(rooms.map(key));
      expect(lists.map(({ entries }) => entries.size)).toEqual(sizes);
      for (const [n, { entries }] of lists.entries())
        for (const entry of entries.values()) expect(entry.value).toBe(rooms[n]);
      const revisions = lists.map(({ revision }) => revision);
      expect([...revisions].sort((a, b) => a - b)).toEqual(revisions);
      expect(await at.store.listMany([])).toEqual([]);
    });

    it('lists a prefix and nothing beside it', async () => {
      await put('room/a', '1');
      await put('room/b', '2');
      await put('roomy/c', '3');
      const { entries } = await at.store.list(key('room/'));
      expect([...entries.keys()]).toEqual([key('room/a'), key('room/b')]);
      await remove('room/a');
      expect((await at.store.list(key('room/'))).entries.size).toBe(1);
      expect((await at.store.list(key('nothing/'))).entries.size).toBe(0);
    });

    it('I4 of attempts that compared the same revision at most one is applied', async () => {
      const revision = await put('ledger', '0');
      const tries = Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? at.store : at.other).attempt({
          compares: [{ key: key('ledger'), target: 'modRevision', equals: revision }],
          writes: [{ kind: 'put', key: key('ledger'), value: String(index) }],
          readBack: [key('ledger')],
        }),
      );
      const replies = await Promise.all(tries);
      expect(replies.filter((reply) => reply.outcome === 'applied')).toHaveLength(1);
      expect(replies.filter((reply) => reply.outcome === 'refused')).toHaveLength(19);
    });

    it('writes all or nothing, and reads back in the refusing transaction', async () => {
      const revision = await put('a', '1');
      const reply = await at.store.attempt({
        compares: [
          { key: key('a'), target: 'modRevision', equals: revision },
          { key: key('b'), target: 'createRevision', equals: revision },
        ],
        writes: [
          { kind: 'put', key: key('a'), value: '2' },
          { kind: 'put', key: key('c'), value: '2' },
        ],
        readBack: [key('a'), key('b')],
      });
      expect(reply.outcome).toBe('refused');
      if (reply.outcome !== 'refused') return;
      expect([...reply.found.values()].map((entry) => entry.value)).toEqual(['1']);
      expect((await at.store.list(at.prefix)).entries.size).toBe(1);
    });

    it('reads back many keys as they were when it was refused, whatever is written meanwhile', async () => {
      const keys = Array.from({ length: 40 }, (_, index) => key(`many/${String(index)}`));
      const writeAll = (value: string) =>
        at.other.attempt({
          compares: [],
          writes: keys.map((name) => ({ kind: 'put', key: name, value })),
          readBack: [],
        });
      await writeAll('first');
      for (let round = 0; round < 20; round++) {
        const refused = at.store.attempt({
          compares: [{ key: key('none'), target: 'modRevision', equals: 1 }],
          writes: [],
          readBack: keys,
        });
        const [reply, written] = await Promise.all([refused, writeAll(String(round))]);
        if (reply.outcome !== 'refused' || written.outcome !== 'applied') throw new Error('wrong outcome');
        expect([...reply.found.keys()].sort()).toEqual([...keys].sort());
        const revisions = new Set([...reply.found.values()].map(({ modRevision }) => modRevision));
        expect(revisions.size).toBe(1);
        expect([...revisions][0]).toBeLessThanOrEqual(reply.revision);
        // Not older than its revision either.
        if (written.revision <= reply.revision) expect(revisions).toContain(written.revision);
        else expect(revisions).not.toContain(written.revision);
      }
    });

    it('takes 0 for absent, for both kinds of compare', async () => {
      for (const target of ['modRevision', 'createRevision'] as const) {
        const attempt = {
          compares: [{ key: key(target), target, equals: 0 }],
          writes: [{ kind: 'put', key: key(target), value: 'x' } as const],
          readBack: [],
        };
        expect((await at.store.attempt(attempt)).outcome).toBe('applied');
        expect((await at.store.attempt(attempt)).outcome).toBe('refused');
        await remove(target);
        expect((await at.store.attempt(attempt)).outcome).toBe('applied');
      }
    });

    it('refuses an attempt when there is a key under one of its prefixes that shall be empty', async () => {
      const attempt = (name: string, ...prefixes: readonly string[]) =>
        at.store.attempt({
          compares: [],
          empty: prefixes.map(key),
          writes: [{ kind: 'put', key: key(name), value: 'x' }],
          readBack: [],
        });
      await put('jobs/one/a', '1');
      await put('jobs/one-more', '1');
      expect((await attempt('new/1', 'jobs/two/', 'jobs/on/')).outcome).toBe('applied');
      expect((await attempt('new/2', 'jobs/two/', 'jobs/one/')).outcome).toBe('refused');
      expect((await attempt('new/2', 'jobs/')).outcome).toBe('refused');
      await remove('jobs/one/a');
      expect((await attempt('new/2', 'jobs/two/', 'jobs/one/')).outcome).toBe('applied');
    });

    it('refuses attempts over its limits before anything is sent', async () => {
      const writes = Array.from({ length: at.store.limits.operationsMax + 1 }, (_, index): Write => ({
        kind: 'put',
        key: key(`w${String(index)}`),
        value: 'x',
      }));
      await expect(at.store.attempt({ compares: [], writes, readBack: [] })).rejects.toMatchObject({
        code: 'too-large',
        retryable: false,
      });
      expect((await at.store.attempt({ compares: [], writes: writes.slice(1), readBack: [] })).outcome).toBe(
        'applied',
      );
      const value = 'ü'.repeat(at.store.limits.bytesMax / 2);
      const large = unconditional({ kind: 'put', key: key('large'), value });
      await expect(at.store.attempt(large)).rejects.toMatchObject({ code: 'too-large' });
    });

    it('follows from a snapshot through every later revision, in order, each once', async () => {
      await put('a', '1');
      const seen = new Recorder();
      const following = at.other.follow(at.prefix, seen);
      await following.ready;
      expect(seen.state()).toEqual({ a: '1' });
      await put('b', '2');
      await at.store.attempt({
        compares: [],
        writes: [
          { kind: 'put', key: key('a'), value: '3' },
          { kind: 'delete', key: key('b') },
          { kind: 'put', key: key('c'), value: '4' },
        ],
        readBack: [],
      });
      const last = await put('d', '5');
      await seen.reached(last);
      expect(seen.state()).toEqual({ a: '3', c: '4', d: '5' });
      const revisions = seen.revisions.map((entry) => entry.revision);
      expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
      expect(seen.revisions[1]?.changes).toHaveLength(3);
      following.close();
    });

    it('leaves out revisions that a follower knows, whole ones, asked of each once, and tells all others', async () => {
      const asked: number[] = [];
      const seen = new Recorder();
      // Every second one: it cannot be said beforehand which revisions these will be.
      const following = at.other.follow(at.prefix, {
        onSnapshot: (snapshot) => seen.onSnapshot(snapshot),
        onChanges: (changes, revision) => seen.onChanges(changes, revision),
        knows: (revision) => asked.push(revision) % 2 === 0,
      });
      await following.ready;
      const several = async (value: string): Promise<number> => {
        const writes = ['a', 'b', 'c'].map((one): Write => ({ kind: 'put', key: key(one), value }));
        const reply = await at.store.attempt({ compares: [], writes, readBack: [] });
        return reply.outcome === 'applied' ? reply.revision : 0;
      };
      const made = [
        await put('a', '1'),
        await several('2'),
        // Another write of the same key right behind one that is known.
        await put('a', '3'),
        await remove('a'),
        await several('4'),
        await put('d', 'known'),
        await put('e', '5'),
      ];
      await seen.reached(made.at(-1) ?? 0);
      expect(asked).toEqual(made);
      expect(seen.revisions.map(({ revision }) => revision)).toEqual(made.filter((_, n) => n % 2 === 0));
      expect(seen.revisions.map(({ changes }) => changes.length)).toEqual([1, 1, 3, 1]);
      expect(seen.state()).toEqual({ a: '4', b: '4', c: '4', e: '5' });
      following.close();
    });

    it('says nothing of other prefixes, and nothing after it was closed', async () => {
      const seen = new Recorder();
      const following = at.store.follow(key('room/'), seen);
      await following.ready;
      await put('other/a', '1');
      await seen.reached(await put('room/a', '1'));
      expect(seen.revisions).toHaveLength(1);
      following.close();
      const witness = new Recorder();
      const later = at.store.follow(key('room/'), witness);
      await later.ready;
      await witness.reached(await put('room/b', '1'));
      expect(seen.revisions).toHaveLength(1);
      later.close();
    });

    it('rejects `ready` of a following that is closed before its snapshot', async () => {
      const following = at.store.follow(at.prefix, new Recorder());
      following.close();
      await expect(following.ready).rejects.toBeInstanceOf(StoreError);
    });

    it('deletes the keys of a session that is closed, and only those', async () => {
      const session = await at.store.openSession({ ttlMs: 10_000 });
      const seen = new Recorder();
      const following = at.other.follow(at.prefix, seen);
      await following.ready;
      await put('stays', '1');
      for (const name of ['mine-1', 'mine-2'])
        await at.store.attempt(unconditional({ kind: 'put', key: key(name), value: 'x', session }));
      // Written again without the session, it belongs to nobody any more.
      await seen.reached(await put('mine-2', 'y'));
      expect(session.lost.aborted).toBe(false);
      const gone = seen.until((state) => !('mine-1' in state));
      await session.close();
      await gone;
      expect(seen.state()).toEqual({ stays: '1', 'mine-2': 'y' });
      expect(session.lost.aborted).toBe(true);
      following.close();
    });

    it('refuses to write under a session that has ended', async () => {
      const session = await at.store.openSession({ ttlMs: 10_000 });
      await session.close();
      const attempt = unconditional({ kind: 'put', key: key('a'), value: 'x', session });
      await expect(at.store.attempt(attempt)).rejects.toMatchObject({ code: 'closed', retryable: false });
      expect((await at.store.read([key('a')])).entries.size).toBe(0);
    });

    it('tells the past of a prefix, revision by revision, up to now', async () => {
      const first = await put('room/a', '1');
      await put('else', '1');
      const second = await put('room/a', '2');
      const third = await remove('room/a');
      const past: Revision[] = [];
      for await (const revision of at.other.history(key('room/'), first)) past.push(revision);
      expect(past.map((entry) => entry.revision)).toEqual([first, second, third]);
      expect(past[2]?.changes).toEqual([{ kind: 'delete', key: key('room/a') }]);
      const later: Revision[] = [];
      for await (const revision of at.store.history(key('room/'), second)) later.push(revision);
      expect(later).toHaveLength(2);
      expect((await at.store.list(at.prefix)).entries.size).toBe(1);
    });

    it('says when the past is no longer kept', async () => {
      const first = await put('a', '1');
      const second = await put('a', '2');
      await put('a', '3');
      await at.compact(second);
      const reading = async (): Promise<void> => {
        for await (const _revision of at.store.history(at.prefix, first));
      };
      await expect(reading()).rejects.toMatchObject({ code: 'compacted' });
      const oldest = await at.store.oldestRevision();
      expect(oldest).toBeGreaterThan(first);
      const past: Revision[] = [];
      for await (const revision of at.store.history(at.prefix, oldest)) past.push(revision);
      expect(past.at(-1)?.changes).toMatchObject([{ entry: { value: '3' } }]);
    });

    it('is done with everything once closed', async () => {
      const following = at.other.follow(at.prefix, new Recorder());
      await following.ready;
      await at.other.close();
      await expect(at.other.read([key('a')])).rejects.toMatchObject({ code: 'closed', retryable: false });
      await expect(at.other.attempt(unconditional({ kind: 'delete', key: key('a') }))).rejects.toMatchObject({
        code: 'closed',
      });
      expect(() => at.other.follow(at.prefix, new Recorder())).toThrow(StoreError);
    });
  });
}

function unconditional(write: Write): { compares: []; writes: [Write]; readBack: [] } {
  return { compares: [], writes: [write], readBack: [] };
}

/** Remembers what a follow told, and lets a test wait for it. */
export class Recorder implements Follower {
  readonly revisions: { readonly changes: readonly Change[]; readonly revision: number }[] = [];
  readonly snapshots: Snapshot[] = [];
  #state = new Map<string, string>();
  #revision = 0;
  #waiting: (() => void)[] = [];

  onSnapshot(snapshot: Snapshot): void {
    this.snapshots.push(snapshot);
    this.#revision = snapshot.revision;
    this.#state = new Map([...snapshot.entries.values()].map((entry) => [entry.key, entry.value]));
    this.#wake();
  }

  onChanges(changes: readonly Change[], revision: number): void {
    this.revisions.push({ changes, revision });
    this.#revision = revision;
    for (const change of changes) {
      if (change.kind === 'put') this.#state.set(change.entry.key, change.entry.value);
      else this.#state.delete(change.key);
    }
    this.#wake();
  }

  /** By the last part of the key. */
  state(): Record<string, string> {
    return Object.fromEntries(
      [...this.#state].map(([key, value]) => [key.slice(key.lastIndexOf('/') + 1), value]),
    );
  }

  reached(revision: number): Promise<void> {
    return this.#when(() => this.#revision >= revision);
  }

  until(holds: (state: Record<string, string>) => boolean): Promise<void> {
    return this.#when(() => holds(this.state()));
  }

  snapshotCount(count: number): Promise<void> {
    return this.#when(() => this.snapshots.length >= count);
  }

  async #when(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
