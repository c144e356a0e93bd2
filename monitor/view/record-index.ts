import type { Row } from './record-cache.ts';

/** Rows by a group key and an id within it: an index that costs one lookup, whatever the size of the cell. */
export class RecordIndex<T> {
  readonly #groups = new Map<string, Map<string, Row<T>>>();

  of(group: string): ReadonlyMap<string, Row<T>> {
    return this.#groups.get(group) ?? EMPTY;
  }

  keys(): IterableIterator<string> {
    return this.#groups.keys();
  }

  change(group: string, id: string, row: Row<T> | undefined): void {
    let rows = this.#groups.get(group);
    if (row === undefined) {
      rows?.delete(id);
      if (rows?.size === 0) this.#groups.delete(group);
      return;
    }
    if (rows === undefined) this.#groups.set(group, (rows = new Map<string, Row<T>>()));
    rows.set(id, row);
  }
}

const EMPTY: ReadonlyMap<string, never> = new Map<string, never>();
