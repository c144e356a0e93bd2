import type { Clock } from '../../ports/clock.ts';
import type { Attempt, AttemptReply, Change, Entry, Revision, Write } from '../../ports/cell-store.ts';
import { StoreError } from '../../ports/cell-store.ts';
import { EntryFolders } from './entry-folders.ts';

/** As etcd counts: an empty store is at revision 1. */
const FIRST_REVISION = 1;
/** Enough for a checker to replay a long test; beyond it the oldest are compacted, as a server would. */
export const HISTORY_REVISIONS_MAX = 200_000;

/** What the server answers; only a client can have no answer. */
export type CellReply = Exclude<AttemptReply, { readonly outcome: 'unknown' }>;

export type CellListener = (changes: readonly Change[], revision: number) => void;

/** What a snapshot of the store holds, as `etcdctl snapshot save` writes one: all that is kept of the past, and the leases. */
export interface SavedCell {
  readonly revision: number;
  readonly oldestRevision: number;
  readonly base: ReadonlyMap<string, Entry>;
  readonly history: readonly Revision[];
  /** The lease of each key that has one. */
  readonly leaseOf: ReadonlyMap<string, string>;
  readonly leaseTtlsMs: ReadonlyMap<string, number>;
}

/** A new store. */
const EMPTY: SavedCell = {
  ...{ revision: FIRST_REVISION, oldestRevision: FIRST_REVISION, base: new Map(), history: [] },
  ...{ leaseOf: new Map(), leaseTtlsMs: new Map() },
};

interface Lease {
  readonly ttlMs: number;
  readonly keys: Set<string>;
  cancelExpiry: () => void;
}

/**
 * A revisioned store in memory: the server side. Several `MemoryCellStore`s may share one, as several clients share an
 * etcd. Everything happens at once and in order; delay and loss belong to the clients and the simulator.
 */
export class MemoryCell {
  readonly #clock: Clock;
  readonly #entries = new EntryFolders();
  readonly #leaseOf = new Map<string, string>();
  readonly #leases = new Map<string, Lease>();
  readonly #listeners = new Set<{ readonly prefix: string; readonly report: CellListener }>();
  #history: Revision[] = [];
  /** Everything as it was before the first revision of the history. */
  readonly #base = new Map<string, Entry>();
  #oldest = FIRST_REVISION;
  #revision = FIRST_REVISION;
  #leaseCount = 0;

  constructor(options: { clock: Clock }) {
    this.#clock = options.clock;
  }

  get revision(): number {
    return this.#revision;
  }

  get oldestRevision(): number {
    return this.#oldest;
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  /** Everything under the prefix, by key. */
  list(prefix: string): Entry[] {
    return this.#entries.list(prefix);
  }

  /** @throws StoreError `closed` when a put names a session that has ended */
  apply(attempt: Attempt): CellReply {
    const holds =
      attempt.compares.every((c) => (this.get(c.key)?.[c.target] ?? 0) === c.equals) &&
      (attempt.empty ?? []).every((prefix) => this.#entries.isEmpty(prefix));
    if (!holds) return { outcome: 'refused', revision: this.#revision, found: this.#find(attempt.readBack) };
    for (const write of attempt.writes) {
      if (write.kind === 'put' && write.session !== undefined && !this.#leases.has(write.session.id))
        throw new StoreError('closed', 'the session has ended', { retryable: false });
    }
    this.#write(attempt.writes);
    return { outcome: 'applied', revision: this.#revision };
  }

  /** Reports every change under the prefix from now on, in the same turn. @returns stops it */
  listen(prefix: string, report: CellListener): () => void {
    const listener = { prefix, report };
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Changes under the prefix from that revision up to now. */
  past(prefix: string, fromRevision: number): Revision[] {
    this.#checkKept(fromRevision);
    const revisions: Revision[] = [];
    for (const { revision, changes } of this.#history) {
      if (revision < fromRevision) continue;
      const own = under(prefix, changes);
      if (own.length > 0) revisions.push({ revision, changes: own });
    }
    return revisions;
  }

  /** Everything under the prefix as it was at the revision, by key. */
  listAt(prefix: string, revision: number): Entry[] {
    this.#checkKept(revision);
    const entries = new Map(this.#base);
    for (const past of this.#history) if (past.revision <= revision) applyChanges(entries, past.changes);
    const own = [...entries.values()].filter((entry) => entry.key.startsWith(prefix));
    return own.sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** Forgets what was before the revision. */
  compact(revision: number): void {
    this.#oldest = Math.max(this.#oldest, Math.min(revision, this.#revision));
    for (const past of this.#history)
      if (past.revision < this.#oldest) applyChanges(this.#base, past.changes);
    this.#history = this.#history.filter((past) => past.revision >= this.#oldest);
  }

  save(): SavedCell {
    const leaseTtlsMs = new Map([...this.#leases].map(([id, { ttlMs }]) => [id, ttlMs]));
    return {
      ...{ revision: this.#revision, oldestRevision: this.#oldest, base: new Map(this.#base) },
      ...{ history: [...this.#history], leaseOf: new Map(this.#leaseOf), leaseTtlsMs },
    };
  }

  /**
   * Becomes what was saved, as after `etcdctl snapshot restore`: keys have the revisions that they had, the next change makes
   * the revision after the saved one, and leases live once more for their whole time. Leases granted later are never
   * named as one before. Listeners get nothing: a server ends its watches first.
   * @param saved null: nothing, as a new store
   * @param bumpedTo the revision after the load instead, with the past compacted (`--bump-revision --mark-compacted`)
   */
  load(saved: SavedCell | null, bumpedTo?: number): void {
    const { revision, oldestRevision, base, history, leaseOf, leaseTtlsMs } = saved ?? EMPTY;
    for (const { cancelExpiry } of this.#leases.values()) cancelExpiry();
    for (const rows of [this.#leases, this.#leaseOf, this.#entries, this.#base]) rows.clear();
    for (const [key, entry] of base) this.#base.set(key, entry);
    this.#history = [...history];
    [this.#revision, this.#oldest] = [revision, oldestRevision];
    const entries = new Map(base);
    for (const { changes } of history) applyChanges(entries, changes);
    for (const entry of entries.values()) this.#entries.set(entry);
    for (const [id, ttlMs] of leaseTtlsMs) this.#grant(id, ttlMs);
    for (const [key, id] of leaseOf) this.#attach(key, id);
    if (bumpedTo === undefined) return;
    this.#revision = bumpedTo;
    this.compact(bumpedTo);
  }

  #checkKept(revision: number): void {
    if (revision < this.#oldest)
      throw new StoreError('compacted', `revision ${String(revision)} is no longer kept`, {
        retryable: false,
      });
  }

  grantLease(ttlMs: number): string {
    this.#leaseCount += 1;
    const id = `lease-${String(this.#leaseCount)}`;
    this.#grant(id, ttlMs);
    return id;
  }

  #grant(id: string, ttlMs: number): void {
    this.#leases.set(id, { ttlMs, keys: new Set(), cancelExpiry: () => undefined });
    this.renewLease(id);
  }

  /** @returns false: there is no such lease (any more) */
  renewLease(id: string): boolean {
    const lease = this.#leases.get(id);
    if (lease === undefined) return false;
    lease.cancelExpiry();
    lease.cancelExpiry = this.#clock.after(lease.ttlMs, () => this.endLease(id));
    return true;
  }

  /** Ends the lease and deletes its keys in one revision. */
  endLease(id: string): void {
    const lease = this.#leases.get(id);
    if (lease === undefined) return;
    lease.cancelExpiry();
    this.#leases.delete(id);
    this.#write([...lease.keys].sort().map((key) => ({ kind: 'delete', key })));
  }

  #find(keys: readonly string[]): Map<string, Entry> {
    const found = new Map<string, Entry>();
    for (const key of keys) {
      const entry = this.get(key);
      if (entry !== undefined) found.set(key, entry);
    }
    return found;
  }

  #write(writes: readonly Write[]): void {
    const revision = this.#revision + 1;
    const changes: Change[] = [];
    for (const write of writes) {
      if (write.kind === 'put') changes.push(this.#put(write.key, write.value, write.session?.id, revision));
      else if (this.#delete(write.key)) changes.push({ kind: 'delete', key: write.key });
    }
    // As in etcd, a transaction that changed nothing makes no revision.
    if (changes.length === 0) return;
    this.#revision = revision;
    this.#history.push({ revision, changes });
    if (this.#history.length > HISTORY_REVISIONS_MAX)
      this.compact(this.#history[this.#history.length >> 1]?.revision ?? revision);
    for (const { prefix, report } of [...this.#listeners]) {
      const own = under(prefix, changes);
      if (own.length > 0) report(own, revision);
    }
  }

  #put(key: string, value: string, lease: string | undefined, revision: number): Change {
    const entry: Entry = {
      key,
      value,
      createRevision: this.get(key)?.createRevision ?? revision,
      modRevision: revision,
    };
    this.#entries.set(entry);
    this.#attach(key, lease);
    return { kind: 'put', entry };
  }

  #delete(key: string): boolean {
    if (!this.#entries.delete(key)) return false;
    this.#attach(key, undefined);
    return true;
  }

  /** A key belongs to the lease of its last put, or to none. */
  #attach(key: string, lease: string | undefined): void {
    const before = this.#leaseOf.get(key);
    if (before !== undefined) this.#leases.get(before)?.keys.delete(key);
    if (lease === undefined) this.#leaseOf.delete(key);
    else {
      this.#leaseOf.set(key, lease);
      this.#leases.get(lease)?.keys.add(key);
    }
  }
}

function applyChanges(entries: Map<string, Entry>, changes: readonly Change[]): void {
  for (const change of changes) {
    if (change.kind === 'put') entries.set(change.entry.key, change.entry);
    else entries.delete(change.key);
  }
}

function under(prefix: string, changes: readonly Change[]): readonly Change[] {
  return changes.filter((change) =>
    (change.kind === 'put' ? change.entry.key : change.key).startsWith(prefix),
  );
}
