import type { Entry } from '../../ports/cell-store.ts';

/**
 * The newest entries by key, in folders (the key up to its last slash): to list a small one takes no walk through the large ones, and
 * whether anything lies below a folder is known without a walk.
 */
export class EntryFolders {
  readonly #folders = new Map<string, Map<string, Entry>>();
  /** How many folders lie at or below each. */
  readonly #below = new Map<string, number>();

  get(key: string): Entry | undefined {
    return this.#folders.get(folderOf(key))?.get(key);
  }

  /** Everything under the prefix, by key. */
  list(prefix: string): Entry[] {
    const entries: Entry[] = [];
    for (const [folder, keys] of this.#folders) {
      const whole = folder.startsWith(prefix);
      if (!whole && !prefix.startsWith(folder)) continue;
      for (const [key, entry] of keys) if (whole || key.startsWith(prefix)) entries.push(entry);
    }
    return entries.sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** @param folder with its last slash */
  isEmpty(folder: string): boolean {
    return !this.#below.has(folder);
  }

  set(entry: Entry): void {
    const folder = folderOf(entry.key);
    const keys = this.#folders.get(folder);
    if (keys !== undefined) keys.set(entry.key, entry);
    else {
      this.#folders.set(folder, new Map([[entry.key, entry]]));
      this.#count(folder, 1);
    }
  }

  /** @returns false: it was not there */
  delete(key: string): boolean {
    const folder = folderOf(key);
    const keys = this.#folders.get(folder);
    if (keys?.delete(key) !== true) return false;
    if (keys.size === 0) {
      this.#folders.delete(folder);
      this.#count(folder, -1);
    }
    return true;
  }

  clear(): void {
    this.#folders.clear();
    this.#below.clear();
  }

  /** At the folder and all above it. */
  #count(folder: string, more: 1 | -1): void {
    for (let end = folder.indexOf('/'); end >= 0; end = folder.indexOf('/', end + 1)) {
      const above = folder.slice(0, end + 1);
      const count = (this.#below.get(above) ?? 0) + more;
      if (count === 0) this.#below.delete(above);
      else this.#below.set(above, count);
    }
  }
}

function folderOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/') + 1);
}
