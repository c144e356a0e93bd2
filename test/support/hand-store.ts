import { History } from '../../sim/history/history.ts';
import type { Attempt, Change, Compare, Entry, Write } from '../../src/ports/cell-store.ts';

export interface SavedStore {
  readonly revision: number;
  readonly entries: ReadonlyMap<string, Entry>;
}

/** The store of a run written by hand: it keeps revisions, asks no questions, and writes down in the history what was asked of it. */
export class HandStore {
  readonly history = new History(() => this.nowMs);
  nowMs = 1_000;
  #entries = new Map<string, Entry>();
  #revision = 1;

  entry(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  modOf(key: string): number {
    return this.#entries.get(key)?.modRevision ?? 0;
  }

  /** Done as it is asked for; `compares` are believed. @param actor null: the end of a session */
  write(actor: string | null, writes: readonly Write[], compares: readonly Compare[]): number {
    const from = this.history.asking();
    this.#revision += 1;
    const revision = this.#revision;
    const changes = writes.map((write) => this.#change(write, revision));
    const attempt: Attempt = { compares, writes, readBack: [] };
    this.history.revision(revision, actor, changes, actor === null ? null : attempt);
    if (actor !== null) this.history.attempted(actor, from, attempt, { outcome: 'applied', revision });
    return revision;
  }

  /** What is there now, to be given back to `restore`. */
  save(): SavedStore {
    return { revision: this.#revision, entries: new Map(this.#entries) };
  }

  /**
   * The store becomes what was saved, and its revisions go back.
   * @param to null: all was lost, and what is saved was said again at once
   */
  restore(saved: SavedStore, to: number | null = saved.revision): void {
    const then = saved.entries;
    const changes: Change[] = [...this.#entries.keys()]
      .filter((key) => !then.has(key))
      .map((key) => ({ kind: 'delete', key }));
    for (const entry of then.values())
      if (this.#entries.get(entry.key) !== entry) changes.push({ kind: 'put', entry });
    this.#entries = new Map(then);
    this.#revision = saved.revision;
    this.history.restored({ revision: this.#revision, to }, changes);
  }

  put(actor: string, key: string, value: string, guard: 'same' | 'absent' | 'none'): number {
    const equals = guard === 'absent' ? 0 : this.modOf(key);
    const compares = guard === 'none' ? [] : [{ key, target: 'modRevision' as const, equals }];
    return this.write(actor, [{ kind: 'put', key, value }], compares);
  }

  drop(actor: string | null, key: string): number {
    const compares = actor === null ? [] : [{ key, target: 'modRevision' as const, equals: this.modOf(key) }];
    return this.write(actor, [{ kind: 'delete', key }], compares);
  }

  read(actor: string, keys: readonly string[], spoil: Partial<Entry> = {}): void {
    const from = this.history.asking();
    const entries = new Map<string, Entry>();
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (entry !== undefined) entries.set(key, { ...entry, ...spoil });
    }
    this.history.read(actor, from, keys, { revision: this.#revision, entries });
  }

  list(actor: string, prefix: string, leaveOut = 0): void {
    const from = this.history.asking();
    const all = [...this.#entries].filter(([key]) => key.startsWith(prefix));
    const entries = new Map(all.slice(leaveOut));
    this.history.read(actor, from, prefix, { revision: this.#revision, entries });
  }

  #change(write: Write, revision: number): Change {
    if (write.kind === 'delete') {
      this.#entries.delete(write.key);
      return { kind: 'delete', key: write.key };
    }
    const { key, value } = write;
    const createRevision = this.#entries.get(key)?.createRevision ?? revision;
    const entry = { key, value, createRevision, modRevision: revision };
    this.#entries.set(key, entry);
    return { kind: 'put', entry };
  }
}
