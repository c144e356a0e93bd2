import {
  closeSync,
  fdatasync,
  fsync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  unlinkSync,
  watch,
  writeSync,
} from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Disk, DiskErrorCode, WriteOptions } from '../../ports/disk.ts';
import { DiskError } from '../../ports/disk.ts';
import { AppendQueue } from './append-queue.ts';

const FULL = new Set(['ENOSPC', 'EDQUOT']);
const ABSENT = new Set(['ENOENT', 'ENOTDIR']);

/**
 * The folder on a real file system. Folders are made for their owner alone.
 *
 * What the page cache answers is done at once: a hop to the thread pool and back costs several times what a small file
 * does, and a start is some forty of them. What may wait for the device, a sync, goes to the pool.
 */
export function nodeDisk(root: string): Disk {
  return new NodeDisk(root);
}

class NodeDisk implements Disk {
  readonly #root: string;
  readonly #appends = new Map<string, AppendQueue>();
  #temporary = 0;

  constructor(root: string) {
    this.#root = root;
  }

  absolute(path: string): string {
    return path === '' ? this.#root : join(this.#root, path);
  }

  read(path: string): Promise<string | null> {
    // Most of what is asked for is not there, and an error costs more than a look.
    return orAbsent(`read ${path}`, null, async () =>
      isThere(this.absolute(path)) ? readFileSync(this.absolute(path), 'utf8') : null,
    );
  }

  async publish(path: string, text: string, options?: WriteOptions): Promise<'published' | 'exists'> {
    const durable = options?.durable ?? true;
    return asDisk(`write ${path}`, async () => {
      const temporary = await this.#writeBeside(path, text, durable);
      try {
        linkSync(temporary, this.absolute(path));
      } catch (error) {
        if (codeOf(error) === 'EEXIST') return 'exists';
        throw error;
      } finally {
        unlinkSync(temporary);
      }
      if (durable) await this.#syncAbove(path);
      return 'published';
    });
  }

  replace(path: string, text: string): Promise<void> {
    return asDisk(`write ${path}`, async () => {
      renameSync(await this.#writeBeside(path, text, true), this.absolute(path));
      await this.#syncAbove(path);
    });
  }

  append(path: string, text: string): Promise<void> {
    let queue = this.#appends.get(path);
    if (queue === undefined) {
      queue = new AppendQueue((all) => asDisk(`append to ${path}`, () => this.#appendNow(path, all)));
      this.#appends.set(path, queue);
    }
    return queue.add(text);
  }

  list(path: string): Promise<readonly string[]> {
    return orAbsent<readonly string[]>(`list ${path}`, [], async () =>
      isThere(this.absolute(path)) ? readdirSync(this.absolute(path)) : [],
    );
  }

  makeFolder(path: string): Promise<void> {
    return asDisk(`make ${path}`, async () => {
      mkdirSync(this.absolute(path), { recursive: true, mode: 0o700 });
    });
  }

  remove(path: string): Promise<void> {
    return asDisk(`remove ${path}`, () =>
      rm(this.absolute(path), { recursive: true, force: true, maxRetries: 2 }),
    );
  }

  move(from: string, to: string): Promise<void> {
    return asDisk(`move ${from}`, async () => {
      mkdirSync(dirname(this.absolute(to)), { recursive: true, mode: 0o700 });
      renameSync(this.absolute(from), this.absolute(to));
    });
  }

  sizeOf(path: string): Promise<number | null> {
    return orAbsent(`look at ${path}`, null, async () => {
      return statSync(this.absolute(path), { throwIfNoEntry: false })?.size ?? null;
    });
  }

  readRange(path: string, offset: number, length: number): Promise<Uint8Array> {
    return orAbsent(`read ${path}`, new Uint8Array(0), () => readFrom(this.absolute(path), offset, length));
  }

  watch(path: string, onChange: () => void): () => void {
    try {
      // One kernel watch instance serves all of these of a process.
      const watcher = watch(this.absolute(path), () => onChange());
      // A hint that does not come: whoever waits for it looks again after a while anyway.
      watcher.on('error', () => watcher.close());
      return () => watcher.close();
    } catch {
      return () => undefined;
    }
  }

  freeBytes(): Promise<number> {
    return asDisk('look at the free space', async () => {
      const found = statfsSync(this.#root);
      return found.bavail * found.bsize;
    });
  }

  async #writeBeside(path: string, text: string, durable: boolean): Promise<string> {
    const target = this.absolute(path);
    this.#temporary += 1;
    const temporary = join(dirname(target), `.tmp-${String(process.pid)}-${String(this.#temporary)}`);
    const write = (): Promise<void> =>
      using(temporary, 'w', async (file) => {
        writeAll(file, text);
        // An empty file is its name, which the sync of its folder keeps.
        if (durable && text !== '') await synced(file);
      }).catch((error: unknown) => {
        // What is left of it would fill a full disk further.
        rmSync(temporary, { force: true });
        throw error;
      });
    try {
      await write();
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
      if (durable) await this.#syncFolder(dirname(dirname(target)));
      await write();
    }
    return temporary;
  }

  #syncAbove(path: string): Promise<void> {
    return this.#syncFolder(dirname(this.absolute(path)));
  }

  #syncFolder(folder: string): Promise<void> {
    return using(folder, 'r', synced);
  }

  #appendNow(path: string, text: string): Promise<void> {
    return using(this.absolute(path), 'a', async (file) => {
      writeAll(file, text);
      await new Promise<void>((done, fail) =>
        fdatasync(file, (error) => (error === null ? done() : fail(error))),
      );
    });
  }
}

async function using<T>(path: string, flags: string, work: (file: number) => Promise<T>): Promise<T> {
  const file = openSync(path, flags, 0o600);
  try {
    return await work(file);
  } finally {
    closeSync(file);
  }
}

/** Only its absence makes it absent: a disk that fails says nothing of what is on it. */
function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** A disk that is nearly full takes a part. */
function writeAll(file: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
}

function synced(file: number): Promise<void> {
  return new Promise((done, fail) => fsync(file, (error) => (error === null ? done() : fail(error))));
}

/** Output is read through the pool: it may have left the page cache long ago. */
async function readFrom(path: string, offset: number, length: number): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(length);
    const { bytesRead } = await file.read(buffer, 0, length, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

async function asDisk<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    const kind: DiskErrorCode = FULL.has(code) ? 'full' : code === 'EROFS' ? 'read-only' : 'io';
    throw new DiskError(kind, `cannot ${what}: ${code}`, error);
  }
}

async function orAbsent<T>(what: string, absent: T, work: () => Promise<T>): Promise<T> {
  return asDisk(what, async () => {
    try {
      return await work();
    } catch (error) {
      if (ABSENT.has(codeOf(error))) return absent;
      throw error;
    }
  });
}
