import { FolderTree } from '../../src/adapters/memory/folder-tree.ts';

/** A file as processes see it, and as it would be found after a loss of power. */
interface FileState {
  text: string;
  /** null: it would not be there. */
  synced: string | null;
}

/** What an append was about to add when the power went. */
export interface Torn {
  readonly path: string;
  readonly text: string;
}

/** What lies on a machine's disk. Changes are immediate; delays and failures are the disk port's. */
export class DiskContent {
  readonly #files = new Map<string, FileState>();
  /** Folders themselves are taken for durable. */
  readonly #tree = new FolderTree();

  read(path: string): string | null {
    return this.#files.get(path)?.text ?? null;
  }

  has(path: string): boolean {
    return this.#files.has(path);
  }

  list(path: string): readonly string[] {
    return this.#tree.list(path);
  }

  write(path: string, text: string, durable: boolean): void {
    const file = this.#files.get(path);
    if (file === undefined) this.#files.set(path, { text, synced: durable ? text : null });
    else {
      file.text = text;
      if (durable) file.synced = text;
    }
    this.#tree.add(path);
  }

  append(path: string, text: string, durable: boolean): void {
    this.write(path, (this.read(path) ?? '') + text, durable);
  }

  makeFolder(path: string): void {
    this.#tree.make(path);
  }

  remove(path: string): void {
    this.#files.delete(path);
    for (const name of this.list(path)) this.remove(`${path}/${name}`);
    this.#tree.drop(path);
  }

  move(from: string, to: string): void {
    const file = this.#files.get(from);
    if (file !== undefined) {
      this.#files.set(to, { ...file });
      this.#tree.add(to);
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
    this.#tree.forgetWatchers();
  }

  watch(path: string, onChange: () => void): () => void {
    return this.#tree.watch(path, onChange);
  }
}
