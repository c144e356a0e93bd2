import { errorText } from '../../src/core/errors/errors.ts';
import type { Entry } from '../../src/ports/cell-store.ts';

export interface Row<T> {
  readonly value: T;
  readonly createRevision: number;
  readonly modRevision: number;
}

/** A record that came, changed or went, in the order of the store. */
export interface RowChange<T> {
  readonly kind: string;
  /** The key without the prefix of its kind. */
  readonly name: string;
  readonly now: Row<T> | undefined;
  readonly before: Row<T> | undefined;
  /** Position in the store's history: the same at every monitor, but for changes that a snapshot showed. */
  readonly revision: number;
  readonly ordinal: number;
}

export interface RecordCacheOptions<T> {
  readonly name: string;
  readonly prefix: string;
  /** Keep records as text, and decode one when it is asked for: most never are. */
  readonly lazy?: boolean;
  readonly decode: (text: string) => T;
  /** The record was unreadable; it is left out. */
  onBadRecord(key: string, error: unknown): void;
  onChange(change: RowChange<T>): void;
}

/** A live copy of one kind of record, fed by `CellCopy` in the order of revisions. */
export class RecordCache<T> {
  readonly prefix: string;
  readonly #options: RecordCacheOptions<T>;
  readonly #rows = new Map<string, Row<T>>();
  /** Of those whose last version cannot be read: why. */
  readonly #unreadable = new Map<string, string>();

  constructor(options: RecordCacheOptions<T>) {
    this.prefix = options.prefix;
    this.#options = options;
  }

  get size(): number {
    return this.#rows.size;
  }

  get(name: string): Row<T> | undefined {
    const row = this.#rows.get(name);
    return row instanceof LazyRow && !row.isRead ? this.#read(name, row as LazyRow<T>) : row;
  }

  /** Is there a record of the name? It may be unreadable. */
  has(name: string): boolean {
    return this.#rows.has(name);
  }

  names(): IterableIterator<string> {
    return this.#rows.keys();
  }

  *rows(): IterableIterator<[string, Row<T>]> {
    for (const name of this.#rows.keys()) {
      const row = this.get(name);
      if (row !== undefined) yield [name, row];
    }
  }

  /** The keys of records whose last version cannot be read, and why. Of lazy ones those that were asked for. */
  *unreadable(): IterableIterator<readonly [key: string, why: string]> {
    for (const [name, why] of this.#unreadable) yield [this.prefix + name, why];
  }

  put(entry: Entry, revision: number, ordinal: number): void {
    const name = entry.key.slice(this.prefix.length);
    const before = this.#rows.get(name);
    if (before !== undefined && before.modRevision >= entry.modRevision) return;
    const now = this.#options.lazy === true ? this.#lazyRow(entry, before) : this.#decoded(name, entry);
    if (now === null) return;
    this.#unreadable.delete(name);
    this.#rows.set(name, now);
    this.#options.onChange({ kind: this.#options.name, name, now, before, revision, ordinal });
  }

  delete(key: string, revision: number, ordinal: number): void {
    const name = key.slice(this.prefix.length);
    this.#unreadable.delete(name);
    const before = this.#rows.get(name);
    if (before === undefined) return;
    this.#rows.delete(name);
    const kind = this.#options.name;
    this.#options.onChange({ kind, name, now: undefined, before, revision, ordinal });
  }

  /** After a gap: what the snapshot does not hold is gone. @returns the next ordinal, from the given one on */
  keepOnly(keys: ReadonlySet<string>, revision: number, first: number): number {
    let ordinal = first;
    for (const name of this.#unreadable.keys())
      if (!keys.has(this.prefix + name)) this.#unreadable.delete(name);
    for (const name of [...this.#rows.keys()]) {
      const key = this.prefix + name;
      if (!keys.has(key)) this.delete(key, revision, ordinal++);
    }
    return ordinal;
  }

  #decoded(name: string, { value, createRevision, modRevision }: Entry): Row<T> | null {
    try {
      return { value: this.#options.decode(value), createRevision, modRevision };
    } catch (error) {
      this.#cannotRead(name, error);
      return null;
    }
  }

  #cannotRead(name: string, error: unknown): void {
    this.#unreadable.set(name, errorText(error));
    this.#options.onBadRecord(this.prefix + name, error);
  }

  #lazyRow(entry: Entry, before: Row<T> | undefined): Row<T> {
    return new LazyRow(entry, this.#options.decode, lastRead(before));
  }

  /** An unreadable record leaves the row before it in place. */
  #read(name: string, row: LazyRow<T>): Row<T> | undefined {
    try {
      row.read();
      return row;
    } catch (error) {
      this.#cannotRead(name, error);
      if (row.before === undefined) this.#rows.delete(name);
      else this.#rows.set(name, row.before);
      return row.before;
    }
  }
}

/** A record that is decoded when its value is asked for. */
class LazyRow<T> implements Row<T> {
  readonly createRevision: number;
  readonly modRevision: number;
  /** The last decoded row before this one; dropped when this one is decoded. */
  before: Row<T> | undefined;
  #text: string | null;
  #value: T | null = null;
  readonly #decode: (text: string) => T;

  constructor(entry: Entry, decode: (text: string) => T, before: Row<T> | undefined) {
    this.createRevision = entry.createRevision;
    this.modRevision = entry.modRevision;
    this.#text = entry.value;
    this.#decode = decode;
    this.before = before;
  }

  get isRead(): boolean {
    return this.#text === null;
  }

  /** @throws RecordError */
  get value(): T {
    return this.read();
  }

  /** @throws RecordError */
  read(): T {
    if (this.#text !== null) {
      this.#value = this.#decode(this.#text);
      this.#text = null;
      this.before = undefined;
    }
    return this.#value as T;
  }
}

function lastRead<T>(row: Row<T> | undefined): Row<T> | undefined {
  return row instanceof LazyRow && !row.isRead ? (row as LazyRow<T>).before : row;
}
