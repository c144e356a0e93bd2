import { Waker } from '../../src/runtime/wait/waker.ts';

/** Somebody who follows names: those that changed since it took the last ones. What is late is told once, as it is then. */
export class NameReader {
  readonly #wants: (name: string) => boolean;
  readonly #dirty = new Set<string>();
  readonly #waker = new Waker();

  constructor(wants: (name: string) => boolean) {
    this.#wants = wants;
  }

  note(name: string): void {
    if (!this.#wants(name)) return;
    this.#dirty.add(name);
    this.#waker.wake();
  }

  /** There is nothing new, and it is to say so. */
  wake(): void {
    this.#waker.wake();
  }

  wait(signal: AbortSignal): Promise<void> {
    return this.#waker.wait(signal);
  }

  take(): readonly string[] {
    const names = [...this.#dirty];
    this.#dirty.clear();
    return names;
  }
}

/** All who follow names. A change costs those who want the name, however many others there are. */
export class NameReaders {
  readonly #ofAll = new Set<NameReader>();
  readonly #byName = new Map<string, Set<NameReader>>();

  /** @param names null: all of them */
  add(reader: NameReader, names: ReadonlySet<string> | null): void {
    if (names === null) this.#ofAll.add(reader);
    for (const name of names ?? []) {
      const readers = this.#byName.get(name) ?? new Set();
      this.#byName.set(name, readers.add(reader));
    }
  }

  delete(reader: NameReader, names: ReadonlySet<string> | null): void {
    this.#ofAll.delete(reader);
    for (const name of names ?? []) {
      const readers = this.#byName.get(name);
      readers?.delete(reader);
      if (readers?.size === 0) this.#byName.delete(name);
    }
  }

  note(name: string): void {
    for (const reader of this.#byName.get(name) ?? []) reader.note(name);
    for (const reader of this.#ofAll) reader.note(name);
  }

  /** Each name that somebody asked for by itself is to be told again. */
  noteAll(): void {
    for (const name of this.#byName.keys()) this.note(name);
  }

  wake(): void {
    for (const reader of this.#ofAll) reader.wake();
    for (const readers of this.#byName.values()) for (const reader of readers) reader.wake();
  }
}
