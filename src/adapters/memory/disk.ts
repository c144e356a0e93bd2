import type { Disk, DiskError } from '../../ports/disk.ts';
import { FolderTree } from './folder-tree.ts';

export interface MemoryDiskOptions {
  readonly freeBytes?: number;
}

/**
 * A disk without a machine: for tests, for simulations, and for hosts that only pretend. Everything written is durable at
 * once; what a write does when the device is full can be switched on.
 */
export class MemoryDisk implements Disk {
  readonly #files = new Map<string, string>();
  readonly #tree = new FolderTree();
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

  async hand(path: string, text: string): Promise<void> {
    this.#checkWritable();
    this.#put(path, text);
  }

  async append(path: string, text: string): Promise<void> {
    this.#checkWritable();
    this.#put(path, (this.#files.get(path) ?? '') + text);
  }

  async list(path: string): Promise<readonly string[]> {
    return this.#tree.list(path);
  }

  async makeFolder(path: string): Promise<void> {
    this.#checkWritable();
    this.#tree.make(path);
  }

  async remove(path: string): Promise<void> {
    this.#files.delete(path);
    for (const name of this.#tree.list(path)) await this.remove(`${path}/${name}`);
    this.#tree.drop(path);
  }

  async move(from: string, to: string): Promise<void> {
    this.#checkWritable();
    const text = this.#files.get(from);
    if (text !== undefined) this.#put(to, text);
    for (const name of this.#tree.list(from)) await this.move(`${from}/${name}`, `${to}/${name}`);
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
    return this.#tree.watch(path, onChange);
  }

  async freeBytes(): Promise<number> {
    return this.#freeBytes;
  }

  #checkWritable(): void {
    if (this.#fault !== null) throw this.#fault;
  }

  #put(path: string, text: string): void {
    this.#files.set(path, text);
    this.#tree.add(path);
  }
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
