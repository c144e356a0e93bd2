/**
 * Live copies of the store's records:
 *
 * - `records.ts`: `Table`, a decoded copy of everything under a prefix; and reading of a record that may be broken
 * - `ledger-feed.ts`: keeps a ledger book up to date
 * - `pool-feed.ts`: keeps a pool book up to date
 * - `pauses.ts`: what operators have paused
 * - `budgets.ts`: what the cell may do of its own accord, and who waits for it; `budget-tokens.ts`: the slices that this process has drawn
 * - `change-record.ts`: changes one record, or several together, by compare-and-swap
 * - `cell-meta.ts`: creates the cell's meta record, renews it after a restore, and watches it
 */
import type { CellStore, Change, Entry, Following, Snapshot } from '../../ports/cell-store.ts';
import type { Codec } from '../../wire/wire.ts';
import { RecordError } from '../../wire/wire.ts';

export interface TableRow<T> {
  readonly value: T;
  readonly createRevision: number;
  readonly modRevision: number;
}

export interface TableOptions<T> {
  /** One row appeared, changed or went. Called after the table itself changed. */
  readonly onChange?: (name: string, now: TableRow<T> | undefined, before: TableRow<T> | undefined) => void;
  /** A record that cannot be read: the row keeps its last good value, or stays absent. */
  readonly onBadRecord?: (error: RecordError, key: string) => void;
}

/**
 * A live copy of everything under a prefix, decoded. Rows are named by the rest of their key. After a gap the new
 * snapshot is compared with the rows, so that a listener sees only what differs.
 *
 * A copy is a hint: it lags behind the store, and only a commit's compares show whether it was right.
 */
export class Table<T> {
  readonly ready: Promise<void>;
  readonly #prefix: string;
  readonly #codec: Codec<T>;
  readonly #options: TableOptions<T>;
  readonly #rows = new Map<string, TableRow<T>>();
  readonly #following: Following;
  #revision = 0;
  /** The record that was decoded last: many rows of a table are often equal, as a scheduler's owner keys are. */
  #last: { readonly text: string; readonly value: T } | null = null;

  constructor(store: CellStore, prefix: string, codec: Codec<T>, options: TableOptions<T> = {}) {
    this.#prefix = prefix;
    this.#codec = codec;
    this.#options = options;
    this.#following = store.follow(prefix, {
      onSnapshot: (snapshot) => this.#replace(snapshot),
      onChanges: (changes, revision) => this.#change(changes, revision),
    });
    this.ready = this.#following.ready;
  }

  get(name: string): TableRow<T> | undefined {
    return this.#rows.get(name);
  }

  rows(): IterableIterator<[string, TableRow<T>]> {
    return this.#rows.entries();
  }

  get size(): number {
    return this.#rows.size;
  }

  /** The store revision up to which this copy is complete. */
  get revision(): number {
    return this.#revision;
  }

  close(): void {
    this.#following.close();
  }

  #replace(snapshot: Snapshot): void {
    this.#revision = Math.max(this.#revision, snapshot.revision);
    for (const name of [...this.#rows.keys()]) {
      if (!snapshot.entries.has(this.#prefix + name)) this.#remove(name);
    }
    for (const entry of snapshot.entries.values()) this.#set(entry);
  }

  #change(changes: readonly Change[], revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
    for (const change of changes) {
      if (change.kind === 'put') this.#set(change.entry);
      else this.#remove(change.key.slice(this.#prefix.length));
    }
  }

  #set(entry: Entry): void {
    const name = entry.key.slice(this.#prefix.length);
    const before = this.#rows.get(name);
    if (before?.modRevision === entry.modRevision) return;
    const value = this.#decode(entry);
    if (value === null) return;
    const now: TableRow<T> = { value, createRevision: entry.createRevision, modRevision: entry.modRevision };
    this.#rows.set(name, now);
    this.#options.onChange?.(name, now, before);
  }

  #remove(name: string): void {
    const before = this.#rows.get(name);
    if (before === undefined) return;
    this.#rows.delete(name);
    this.#options.onChange?.(name, undefined, before);
  }

  #decode({ key, value: text }: Entry): T | null {
    if (this.#last?.text === text) return this.#last.value;
    const value = decodeOrSkip(this.#codec, text, (error) => this.#options.onBadRecord?.(error, key));
    if (value !== null) this.#last = { text, value };
    return value;
  }
}

/** @returns null: the record cannot be read, and `onBadRecord` was called */
export function decodeOrSkip<T>(
  codec: Codec<T>,
  text: string,
  onBadRecord?: (error: RecordError) => void,
): T | null {
  try {
    return codec.decode(text);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    onBadRecord?.(error);
    return null;
  }
}
