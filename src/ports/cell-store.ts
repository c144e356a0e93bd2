import { PortError } from './ports.ts';

/**
 * The cell's shared state: a revisioned map of text to text with compare-and-swap. It offers conditional writes, not plans:
 * what a refused or unanswered write means is decided above it, once. Implemented over etcd, in memory, and
 * in the simulator; one contract suite (`test/contract/cell-store.ts`) holds all of them to what is written here.
 *
 * Only the compare clause of an attempt carries safety. Reads, follows and sessions are hints: late, doubled, sometimes
 * wrong. `docs/decisions/cell-store.md`
 */
export interface CellStore {
  readonly limits: StoreLimits;

  /** Reads keys at one revision. Absent keys are absent from the map. */
  read(keys: readonly string[]): Promise<Snapshot>;

  /**
   * Everything under the prefix at one revision; read in pages, so any size will do.
   * @param atRevision a past revision, as far back as `oldestRevision`; the current one when absent
   * @throws StoreError `compacted` when `atRevision` is no longer kept
   */
  list(prefix: string, atRevision?: number): Promise<Snapshot>;

  /**
   * The same for several prefixes in as few calls as the store allows: for many short lists. Each is whole at a revision
   * of its own, and they are read in the order given: a later one is never of an older revision.
   */
  listMany(prefixes: readonly string[]): Promise<readonly Snapshot[]>;

  /**
   * One conditional write: all compares hold and all writes are done, or nothing is.
   *
   * Never retried underneath. `unknown` means that the write may or may not have been done, and may still be done for a
   * little while; the caller reads back something that only this attempt could have written (`runtime/read-back.ts`).
   * @throws StoreError with code `too-large` before anything is sent when the attempt is over the store's limits, and
   *   `no-space`, `unavailable` or `closed` (a session of its puts has ended) when it certainly was not applied
   */
  attempt(attempt: Attempt): Promise<AttemptReply>;

  /**
   * Reports everything under the prefix for as long as it is open: first a snapshot, then changes; after a gap (store
   * restarted, history compacted, silence) a new snapshot. Changes of one revision come together, in rising order,
   * each key at most once per call. Nothing older than what was reported is reported again, except within a snapshot.
   */
  follow(prefix: string, follower: Follower): Following;

  /** A lease that this process keeps renewing. Keys written with it vanish some time after it ends. */
  openSession(options: SessionOptions): Promise<Session>;

  /**
   * The past, revision by revision, as far back as the store keeps it, up to the revision current at the call.
   * @throws StoreError `compacted` when `fromRevision` is no longer kept
   */
  history(prefix: string, fromRevision: number): AsyncIterable<Revision>;

  /** The oldest revision that `history` can start from. */
  oldestRevision(): Promise<number>;

  close(): Promise<void>;
}

export interface StoreLimits {
  /** Bound on max(compares, writes, read-backs) of one attempt. */
  readonly operationsMax: number;
  /** Bound on the summed length of keys and values of one attempt. */
  readonly bytesMax: number;
}

export interface Entry {
  readonly key: string;
  readonly value: string;
  /** The revision that created the key: changes when the key is deleted and written anew. */
  readonly createRevision: number;
  /** The revision that last wrote the key. */
  readonly modRevision: number;
}

export interface Snapshot {
  readonly revision: number;
  readonly entries: ReadonlyMap<string, Entry>;
}

/** `equals: 0` holds exactly when the key is absent, for both kinds. */
export interface Compare {
  readonly key: string;
  readonly target: 'modRevision' | 'createRevision';
  readonly equals: number;
}

export type Write =
  | { readonly kind: 'put'; readonly key: string; readonly value: string; readonly session?: Session }
  | { readonly kind: 'delete'; readonly key: string };

export interface Attempt {
  readonly compares: readonly Compare[];
  /** Prefixes, each ending in `/`, under which no key may lie. Each counts as a compare. */
  readonly empty?: readonly string[];
  /** Each key at most once. */
  readonly writes: readonly Write[];
  /** Keys to return when a compare fails, as they were at the revision of the refusal. */
  readonly readBack: readonly string[];
}

export type AttemptReply =
  | { readonly outcome: 'applied'; readonly revision: number }
  | { readonly outcome: 'refused'; readonly revision: number; readonly found: ReadonlyMap<string, Entry> }
  | { readonly outcome: 'unknown'; readonly cause: Error };

export interface Follower {
  /** Replaces all that was known under the prefix. */
  onSnapshot(snapshot: Snapshot): void;
  onChanges(changes: readonly Change[], revision: number): void;
  /**
   * True: the follower knows all that this revision changed under the prefix, and the store may leave it out, undecoded.
   * Called before the revision is reported. Absent: every revision is reported.
   */
  knows?(revision: number): boolean;
}

export type Change =
  { readonly kind: 'put'; readonly entry: Entry } | { readonly kind: 'delete'; readonly key: string };

export interface Following {
  /** Resolves when the first snapshot was reported. Rejects when the following was closed before. */
  readonly ready: Promise<void>;
  close(): void;
}

export interface SessionOptions {
  /** How long keys stay after the last renewal, at most about twice this. */
  readonly ttlMs: number;
}

export interface Session {
  readonly id: string;
  /** Aborted when the session counts as lost: by the holder's own deadline, earlier than the store's. */
  readonly lost: AbortSignal;
  /** When the last answered renewal was sent, by the caller's monotonic clock: the store was in contact until then. */
  readonly renewedAtMs: number;
  /** Ends the session; its keys vanish now if the store can be reached. */
  close(): Promise<void>;
}

export interface Revision {
  readonly revision: number;
  readonly changes: readonly Change[];
}

export type StoreErrorCode =
  'unavailable' | 'timeout' | 'too-large' | 'no-space' | 'compacted' | 'closed' | 'wrong-server' | 'denied';

/** `retryable`: the same read may succeed later. */
export class StoreError extends PortError<StoreErrorCode> {
  override readonly name = 'StoreError';
}
