/**
 * The files of a state folder: this file reads and writes them, `batch-runner.ts` joins syncs that come together,
 * `artifact-source.ts` fetches files into the folder, `file-fault.ts` words what the system refuses. `make-folder.ts` makes folders and `write-whole.ts` writes small
 * files for the command line.
 */
import {
  chmodSync,
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
import { errorCodeOf } from '../adapters.ts';
import type { Disk, DiskErrorCode, WriteOptions } from '../../ports/disk.ts';
import { DiskError } from '../../ports/disk.ts';
import { BatchRunner } from './batch-runner.ts';

const FULL = new Set(['ENOSPC', 'EDQUOT']);
const ABSENT = new Set(['ENOENT', 'ENOTDIR']);

/** How long the free space is remembered: the kernel sums it up over all processors, and each start asks. */
const FREE_BYTES_MS = 100;
/** Below this the free space is read at every call, so that a full disk, or freed space, is noticed at once. */
const PLENTY_BYTES = 1024 * 1024 * 1024;

/**
 * A state folder on a real file system. Folders are made for their owner alone.
 *
 * What the page cache answers is done synchronously: a round trip to the thread pool costs several times what a small file
 * does, and a start takes some forty of them. A sync, which may wait for the device, goes to the pool.
 */
export function nodeDisk(root: string): Disk {
  return new NodeDisk(root);
}

class NodeDisk implements Disk {
  readonly #root: string;
  readonly #appends = new Map<string, BatchRunner<string>>();
  readonly #folderSyncs = new Map<string, BatchRunner<null>>();
  #temporary = 0;
  #free = { atMs: -Infinity, bytes: 0 };

  constructor(root: string) {
    this.#root = root;
  }

  absolute(path: string): string {
    return path === '' ? this.#root : join(this.#root, path);
  }

  read(path: string): Promise<string | null> {
    // Most of what is read is absent, and an error costs more than a stat.
    return orAbsent(`read ${path}`, null, async () =>
      isThere(this.absolute(path)) ? readFileSync(this.absolute(path), 'utf8') : null,
    );
  }

  publish(path: string, text: string, options?: WriteOptions): Promise<'published' | 'exists'> {
    const durable = options?.durable ?? true;
    return asDisk(`write ${path}`, async () => {
      const temporary = await this.#writeBeside(path, text, durable);
      try {
        linkSync(temporary, this.absolute(path));
      } catch (error) {
        if (errorCodeOf(error) === 'EEXIST') return 'exists';
        throw error;
      } finally {
        unlinkSync(temporary);
      }
      if (durable) await this.#syncFolder(dirname(this.absolute(path)));
      return 'published';
    });
  }

  replace(path: string, text: string): Promise<void> {
    return asDisk(`write ${path}`, async () => {
      renameSync(await this.#writeBeside(path, text, true), this.absolute(path));
      await this.#syncFolder(dirname(this.absolute(path)));
    });
  }

  hand(path: string, text: string): Promise<void> {
    return asDisk(`write ${path}`, async () => {
      const temporary = await this.#writeBeside('handed/file', text, false);
      try {
        chmodSync(temporary, 0o644);
        renameSync(temporary, this.absolute(path));
      } catch (error) {
        rmSync(temporary, { force: true });
        throw error;
      }
    });
  }

  append(path: string, text: string): Promise<void> {
    const write = (texts: readonly string[]): Promise<void> =>
      asDisk(`append to ${path}`, () => this.#appendNow(path, texts.join('')));
    return shared(this.#appends, path, write).add(text);
  }

  list(path: string): Promise<readonly string[]> {
    return orAbsent<readonly string[]>(`list ${path}`, [], async () =>
      isThere(this.absolute(path)) ? readdirSync(this.absolute(path)) : [],
    );
  }

  makeFolder(path: string): Promise<void> {
    return asDisk(`make ${path}`, async () => {
      makeFolder(this.absolute(path));
    });
  }

  remove(path: string): Promise<void> {
    return asDisk(`remove ${path}`, () =>
      rm(this.absolute(path), { recursive: true, force: true, maxRetries: 2 }),
    );
  }

  move(from: string, to: string): Promise<void> {
    return asDisk(`move ${from}`, async () => {
      makeFolder(dirname(this.absolute(to)));
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
      // One kernel watch instance serves all watches of a process.
      const watcher = watch(this.absolute(path), () => onChange());
      // The watch is a hint: its users read again after a while anyway.
      watcher.on('error', () => watcher.close());
      return () => watcher.close();
    } catch {
      return () => undefined;
    }
  }

  freeBytes(): Promise<number> {
    return asDisk('look at the free space', async () => {
      const nowMs = performance.now();
      if (this.#free.bytes < PLENTY_BYTES || nowMs - this.#free.atMs >= FREE_BYTES_MS) {
        const found = statfsSync(this.#root);
        this.#free = { atMs: nowMs, bytes: found.bavail * found.bsize };
      }
      return this.#free.bytes;
    });
  }

  async #writeBeside(path: string, text: string, durable: boolean): Promise<string> {
    const target = this.absolute(path);
    const changed = makeFolder(dirname(target));
    this.#temporary += 1;
    const temporary = join(dirname(target), `.tmp-${String(process.pid)}-${String(this.#temporary)}`);
    try {
      const written = using(temporary, 'w', async (file) => {
        writeAll(file, text);
        // An empty file is its name, which the sync of its folder keeps.
        if (durable && text !== '') await synced(file);
      });
      await Promise.all([written, ...(durable ? changed.map((folder) => this.#syncFolder(folder)) : [])]);
    } catch (error) {
      // A leftover would fill a full disk further.
      rmSync(temporary, { force: true });
      throw error;
    }
    return temporary;
  }

  #syncFolder(folder: string): Promise<void> {
    return shared(this.#folderSyncs, folder, () => using(folder, 'r', synced)).add(null);
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

/** One runner for each file or folder that is synced, while a caller waits for it. */
function shared<T>(
  queues: Map<string, BatchRunner<T>>,
  path: string,
  run: (items: readonly T[]) => Promise<void>,
): BatchRunner<T> {
  const known = queues.get(path);
  if (known !== undefined) return known;
  const queue = new BatchRunner(run, () => queues.delete(path));
  queues.set(path, queue);
  return queue;
}

/** @returns the folders that have a new name in them and must be synced for it to last; none when it was there */
function makeFolder(folder: string): string[] {
  // An error costs more than a stat.
  if (isThere(folder)) return [];
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  const changed: string[] = [];
  if (first === undefined) return changed;
  for (let made = folder; made.length >= first.length; made = dirname(made)) changed.push(dirname(made));
  return changed;
}

async function using<T>(path: string, flags: string, work: (file: number) => Promise<T>): Promise<T> {
  const file = openSync(path, flags, 0o600);
  try {
    return await work(file);
  } finally {
    closeSync(file);
  }
}

/** Throws where the disk fails: that is no absence. */
function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** In several writes, where a disk that is nearly full takes a part. */
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

async function asDisk<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = errorCodeOf(error);
    const kind: DiskErrorCode = FULL.has(code) ? 'full' : code === 'EROFS' ? 'read-only' : 'io';
    throw new DiskError(kind, `cannot ${what}: ${code}`, error);
  }
}

async function orAbsent<T>(what: string, absent: T, work: () => Promise<T>): Promise<T> {
  return asDisk(what, async () => {
    try {
      return await work();
    } catch (error) {
      if (ABSENT.has(errorCodeOf(error))) return absent;
      throw error;
    }
  });
}
