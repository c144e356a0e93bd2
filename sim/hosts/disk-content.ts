/** A file as processes see it, and as it would be found after a loss of power. */
interface FileState {
  text: string;
  /** null: it would not be there. */
  synced: string | null;
}

/** What lies on a machine's disk. Everything happens at once here; delay and refusal are the disk port's business. */
export class DiskContent {
  readonly #files = new Map<string, FileState>();
  /** Names in each folder. Folders themselves are taken for durable. */
  readonly #folders = new Map<string, Set<string>>();
  readonly #watchers = new Map<string, Set<() => void>>();

  read(path: string): string | null {
    return this.#files.get(path)?.text ?? null;
  }

  has(path: string): boolean {
    return this.#files.has(path);
  }

  list(path: string): readonly string[] {
    return [...(this.#folders.get(path) ?? [])];
  }

  write(path: string, text: string, durable: boolean): void {
    const file = this.#files.get(path);
    if (file === undefined) this.#files.set(path, { text, synced: durable ? text : null });
    else {
      file.text = text;
      if (durable) file.synced = text;
    }
    this.#enterFile(path);
  }

  append(path: string, text: string, durable: boolean): void {
    this.write(path, (this.read(path) ?? '') + text, durable);
  }

  makeFolder(path: string): void {
    this.#enter(path);
  }

  remove(path: string): void {
    this.#files.delete(path);
    for (const name of this.list(path)) this.remove(`${path}/${name}`);
    this.#folders.delete(path);
    const [folder, name] = split(path);
    this.#folders.get(folder)?.delete(name);
    this.#tell(folder);
  }

  move(from: string, to: string): void {
    const file = this.#files.get(from);
    if (file !== undefined) {
      this.#files.set(to, { ...file });
      this.#enterFile(to);
    }
    for (const name of this.list(from)) this.move(`${from}/${name}`, `${to}/${name}`);
    this.remove(from);
  }

  /** @param torn how much of what was appended and not synced is found after all; from 0 to 1 */
  losePower(torn: () => number): void {
    for (const [path, file] of [...this.#files]) {
      if (file.synced === null) this.remove(path);
      else if (file.text !== file.synced) {
        const grew = file.text.startsWith(file.synced);
        const more = grew ? file.text.length - file.synced.length : 0;
        file.text =
          file.synced + file.text.slice(file.synced.length, file.synced.length + Math.floor(more * torn()));
        file.synced = file.text;
      }
    }
    this.#watchers.clear();
  }

  watch(path: string, onChange: () => void): () => void {
    const watchers = this.#watchers.get(path) ?? new Set();
    this.#watchers.set(path, watchers);
    watchers.add(onChange);
    return () => {
      watchers.delete(onChange);
      if (watchers.size === 0) this.#watchers.delete(path);
    };
  }

  #enterFile(path: string): void {
    const [folder, name] = split(path);
    this.#enter(folder).add(name);
    this.#tell(folder);
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

  #tell(folder: string): void {
    for (const onChange of [...(this.#watchers.get(folder) ?? [])]) onChange();
  }
}

function split(path: string): [folder: string, name: string] {
  const at = path.lastIndexOf('/');
  return at < 0 ? ['', path] : [path.slice(0, at), path.slice(at + 1)];
}
