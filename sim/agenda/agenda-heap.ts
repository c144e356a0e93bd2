import type { AgendaEntry } from './life.ts';

/** A binary heap of entries, the earliest first. */
export class AgendaHeap {
  readonly #entries: AgendaEntry[] = [];

  get first(): AgendaEntry | undefined {
    return this.#entries[0];
  }

  push(entry: AgendaEntry): void {
    const entries = this.#entries;
    let at = entries.length;
    entries.push(entry);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = entries[above];
      if (parent === undefined || !isBefore(entry, parent)) break;
      entries[at] = parent;
      at = above;
    }
    entries[at] = entry;
  }

  pop(): AgendaEntry | undefined {
    const entries = this.#entries;
    const first = entries[0];
    const last = entries.pop();
    if (last !== undefined && entries.length > 0) this.#sink(last);
    return first;
  }

  /** Puts the entry where the first one was. */
  #sink(entry: AgendaEntry): void {
    const entries = this.#entries;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      let child = entries[below];
      if (child === undefined) break;
      const other = entries[below + 1];
      if (other !== undefined && isBefore(other, child)) {
        below += 1;
        child = other;
      }
      if (!isBefore(child, entry)) break;
      entries[at] = child;
      at = below;
    }
    entries[at] = entry;
  }
}

function isBefore(a: AgendaEntry, b: AgendaEntry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
