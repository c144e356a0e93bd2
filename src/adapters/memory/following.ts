import type { Change, Follower, Following, Snapshot } from '../../ports/cell-store.ts';
import { StoreError } from '../../ports/cell-store.ts';
import type { MemoryCell } from './cell.ts';

/** What a client gets that lists the prefix, as it is now or was at a revision. */
export function snapshotOf(cell: MemoryCell, prefix: string, atRevision?: number): Snapshot {
  const entries = atRevision === undefined ? cell.list(prefix) : cell.listAt(prefix, atRevision);
  return {
    revision: atRevision ?? cell.revision,
    entries: new Map(entries.map((entry) => [entry.key, entry])),
  };
}

/** What a client gets that reads the keys. */
export function readOf(cell: MemoryCell, keys: readonly string[]): Snapshot {
  const entries = keys.map((key) => cell.get(key)).filter((entry) => entry !== undefined);
  return { revision: cell.revision, entries: new Map(entries.map((entry) => [entry.key, entry])) };
}

/** One open follow of a memory cell. */
export class MemoryFollowing implements Following {
  readonly ready: Promise<void>;
  readonly #cell: MemoryCell;
  readonly #prefix: string;
  readonly #follower: Follower;
  readonly #deliver: (call: () => void) => void;
  readonly #ended: () => void;
  #stopListening: (() => void) | null = null;
  /** Counts connections: a call that was scheduled before a connection ended is dropped. */
  #connection = 0;
  #closed = false;
  #settleReady: { resolve: () => void; reject: (cause: Error) => void } | null = null;

  constructor(
    cell: MemoryCell,
    prefix: string,
    follower: Follower,
    deliver: (call: () => void) => void,
    ended: () => void,
  ) {
    this.#cell = cell;
    this.#prefix = prefix;
    this.#follower = follower;
    this.#deliver = deliver;
    this.#ended = ended;
    this.ready = new Promise((resolve, reject) => (this.#settleReady = { resolve, reject }));
    // An unhandled rejection would end the process when a following is closed early and its `ready` is not awaited.
    this.ready.catch(() => undefined);
  }

  connect(): void {
    this.disconnect();
    if (this.#closed) return;
    this.#stopListening = this.#cell.listen(this.#prefix, (changes, revision) =>
      this.#report(changes, revision),
    );
    const snapshot = snapshotOf(this.#cell, this.#prefix);
    this.#hand(() => {
      this.#follower.onSnapshot(snapshot);
      this.#settleReady?.resolve();
    });
  }

  disconnect(): void {
    this.#connection += 1;
    this.#stopListening?.();
    this.#stopListening = null;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.disconnect();
    this.#settleReady?.reject(new StoreError('closed', 'the following was closed', { retryable: false }));
    this.#ended();
  }

  #report(changes: readonly Change[], revision: number): void {
    this.#hand(() => {
      if (this.#follower.knows?.(revision) !== true) this.#follower.onChanges(changes, revision);
    });
  }

  #hand(call: () => void): void {
    const connection = this.#connection;
    this.#deliver(() => {
      if (connection === this.#connection) call();
    });
  }
}
