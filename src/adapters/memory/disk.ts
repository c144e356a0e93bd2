import type { Disk, DiskError } from '../../ports/disk.ts';

export interface MemoryDiskOptions {
  readonly freeBytes?: number;
}

/**
 * A disk without a machine: for tests, for simulations, and for hosts that only pretend. Everything written is durable at
 * once; what a write does when the device is full can be switched on.
 */
export class MemoryDisk implements Disk {
  readonly #files = new Map<string, string>();
  /** Names in each folder, so that listing one costs what it holds, not what the disk holds. */
  readonly #folders = new Map<string, Set<string>>();
  readonly #watchers = new Map<string, Set<() => void>>();
  #freeBytes: number;
  #fault: DiskError | null = null;

  constructor(options: MemoryDiskOptions = {}) {
    this.#freeBytes = options.freeBytes ?? 2 ** 40;
  }

  /** From now on every write throws this; null: none. */
  failWrites(fault: DiskError | null): void {
    this.#fault = fault;
  }

  setFreeBytes(bytes: number): void {
    this.#freeBytes = bytes;
  }

  absolute(path: string): string {
    return `/memory/${path}`;
  }

  async read(path: string): Promise<string | null> {
    return this.#files.get(path) ?? null;
  }

  async publish(path: string, text: string): Promise<'published' | 'exists'> {
    this.#checkWritable();
    if (this.#files.has(path)) return 'exists';
    this.#put(path, text);
    return 'published';
  }

  async replace(path: string, text: string): Promise<void> {
    this.#checkWritable();
    this.#put(path, text);
  }

  async append(path: string, text: string): Promise<void> {
    this.#checkWritable();
    this.#put(path, (this.#files.get(path) ?? '') + text);
  }

  async list(path: string): Promise<readonly string[]> {
    return [...(this.#folders.get(path) ?? [])];
  }

  async makeFolder(path: string): Promise<void> {
    this.#checkWritable();
    this.#enter(path);
  }

  async remove(path: string): Promise<void> {
    this.#files.delete(path);
    for (const name of this.#folders.get(path) ?? []) await this.remove(`${path}/${name}`);
    this.#folders.delete(path);
    const [folder, name] = split(path);
    this.#folders.get(folder)?.delete(name);
    this.#tell(folder);
  }

  async move(from: string, to: string): Promise<void> {
    this.#checkWritable();
    const text = this.#files.get(from);
    if (text !== undefined) this.#put(to, text);
    for (const name of this.#folders.get(from) ?? []) await this.move(`${from}/${name}`, `${to}/${name}`);
    await this.remove(from);
  }

  async sizeOf(path: string): Promise<number | null> {
    const text = this.#files.get(path);
    return text === undefined ? null : bytesOf(text).length;
  }

  async readRange(path: string, offset: number, length: number): Promise<Uint8Array> {
    return bytesOf(this.#files.get(path) ?? '').subarray(offset, offset + length);
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

  async freeBytes(): Promise<number> {
    return this.#freeBytes;
  }

  #checkWritable(): void {
    if (this.#fault !== null) throw this.#fault;
  }

  #put(path: string, text: string): void {
    this.#files.set(path, text);
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

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
