import type { Entry } from '../src/ports/cell-store.ts';

/** One record as it lies in the store. */
export interface Row<T> {
  readonly value: T;
  readonly createRevision: number;
  readonly modRevision: number;
}

/** A record that came, changed or went, in the order of the store. */
export interface RowChange<T> {
  /** The key without the room's prefix. */
  readonly name: string;
  readonly now: Row<T> | undefined;
  readonly before: Row<T> | undefined;
  /** Which change of which revision it is: the same at every monitor. */
  readonly revision: number;
  readonly ordinal: number;
}

export interface RoomOptions<T> {
  readonly prefix: string;
  decode(text: string): T;
  /** The record was unreadable; it is left out. */
  onBadRecord(key: string, error: unknown): void;
  onChange(change: RowChange<T>): void;
}

/** A live copy of one kind of record. Fed by `CellCopy`, which sees all kinds in the order of their revisions. */
export class Room<T> {
  readonly prefix: string;
  readonly #options: RoomOptions<T>;
  readonly #rows = new Map<string, Row<T>>();

  constructor(options: RoomOptions<T>) {
    this.prefix = options.prefix;
    this.#options = options;
  }

  get size(): number {
    return this.#rows.size;
  }

  get(name: string): Row<T> | undefined {
    return this.#rows.get(name);
  }

  rows(): IterableIterator<[string, Row<T>]> {
    return this.#rows.entries();
  }

  put(entry: Entry, revision: number, ordinal: number): void {
    const name = entry.key.slice(this.prefix.length);
    const before = this.#rows.get(name);
    if (before !== undefined && before.modRevision >= entry.modRevision) return;
    const { createRevision, modRevision } = entry;
    let now: Row<T>;
    try {
      now = { value: this.#options.decode(entry.value), createRevision, modRevision };
    } catch (error) {
      this.#options.onBadRecord(entry.key, error);
      return;
    }
    this.#rows.set(name, now);
    this.#options.onChange({ name, now, before, revision, ordinal });
  }

  delete(key: string, revision: number, ordinal: number): void {
    const name = key.slice(this.prefix.length);
    const before = this.#rows.get(name);
    if (before === undefined) return;
    this.#rows.delete(name);
    this.#options.onChange({ name, now: undefined, before, revision, ordinal });
  }

  /** After a gap: what the snapshot does not hold is gone. */
  keepOnly(keys: ReadonlySet<string>, revision: number): void {
    let ordinal = 0;
    for (const name of [...this.#rows.keys()]) {
      const key = this.prefix + name;
      if (!keys.has(key)) this.delete(key, revision, ordinal++);
    }
  }
}
