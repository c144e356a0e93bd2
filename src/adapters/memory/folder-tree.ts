/** The names in each folder of a disk in memory, and the watchers of each. */
export class FolderTree {
  /** So that listing a folder costs what it holds, not what the disk holds. */
  readonly #folders = new Map<string, Set<string>>();
  readonly #watchers = new Map<string, Set<() => void>>();

  list(folder: string): readonly string[] {
    return [...(this.#folders.get(folder) ?? [])];
  }

  /** The folder is there from now on, with those above it. */
  make(folder: string): void {
    this.#enter(folder);
  }

  /** A file was made, or written. */
  add(path: string): void {
    const [folder, name] = split(path);
    this.#enter(folder).add(name);
    this.#report(folder);
  }

  /** A file or a folder is gone, with all that was in it. */
  drop(path: string): void {
    this.#folders.delete(path);
    const [folder, name] = split(path);
    this.#folders.get(folder)?.delete(name);
    this.#report(folder);
  }

  watch(folder: string, onChange: () => void): () => void {
    const watchers = this.#watchers.get(folder) ?? new Set();
    this.#watchers.set(folder, watchers);
    watchers.add(onChange);
    return () => {
      watchers.delete(onChange);
      if (watchers.size === 0) this.#watchers.delete(folder);
    };
  }

  forgetWatchers(): void {
    this.#watchers.clear();
  }

  #enter(folder: string): Set<string> {
    const there = this.#folders.get(folder);
    if (there !== undefined) return there;
    const names = new Set<string>();
    this.#folders.set(folder, names);
    if (folder !== '') {
      const [above, name] = split(folder);
      this.#enter(above).add(name);
    }
    return names;
  }

  #report(folder: string): void {
    for (const onChange of [...(this.#watchers.get(folder) ?? [])]) onChange();
  }
}

function split(path: string): [folder: string, name: string] {
  const at = path.lastIndexOf('/');
  return at < 0 ? ['', path] : [path.slice(0, at), path.slice(at + 1)];
}
