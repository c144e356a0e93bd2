import { watch } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { link, mkdir, open, readdir, readFile, rename, rm, stat, statfs, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Disk, DiskErrorCode, WriteOptions } from '../../ports/disk.ts';
import { DiskError } from '../../ports/disk.ts';
import { AppendQueue } from './append-queue.ts';

const FULL = new Set(['ENOSPC', 'EDQUOT']);
const ABSENT = new Set(['ENOENT', 'ENOTDIR']);

/** The folder on a real file system. Folders are made for their owner alone. */
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
    return orAbsent(`read ${path}`, null, () => readFile(this.absolute(path), 'utf8'));
  }

  async publish(path: string, text: string, options?: WriteOptions): Promise<'published' | 'exists'> {
    const durable = options?.durable ?? true;
    return asDisk(`write ${path}`, async () => {
      const temporary = await this.#writeBeside(path, text, durable);
      try {
        await link(temporary, this.absolute(path));
      } catch (error) {
        if (codeOf(error) === 'EEXIST') return 'exists';
        throw error;
      } finally {
        await unlink(temporary);
      }
      if (durable) await this.#syncAbove(path);
      return 'published';
    });
  }

  replace(path: string, text: string): Promise<void> {
    return asDisk(`write ${path}`, async () => {
      await rename(await this.#writeBeside(path, text, true), this.absolute(path));
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
    return orAbsent<readonly string[]>(`list ${path}`, [], () => readdir(this.absolute(path)));
  }

  makeFolder(path: string): Promise<void> {
    return asDisk(`make ${path}`, async () => {
      await mkdir(this.absolute(path), { recursive: true, mode: 0o700 });
    });
  }

  remove(path: string): Promise<void> {
    return asDisk(`remove ${path}`, () =>
      rm(this.absolute(path), { recursive: true, force: true, maxRetries: 2 }),
    );
  }

  move(from: string, to: string): Promise<void> {
    return asDisk(`move ${from}`, async () => {
      await mkdir(dirname(this.absolute(to)), { recursive: true, mode: 0o700 });
      await rename(this.absolute(from), this.absolute(to));
    });
  }

  sizeOf(path: string): Promise<number | null> {
    return orAbsent(`look at ${path}`, null, async () => (await stat(this.absolute(path))).size);
  }

  readRange(path: string, offset: number, length: number): Promise<Uint8Array> {
    return orAbsent(`read ${path}`, new Uint8Array(0), () =>
      using(this.absolute(path), 'r', async (file) => {
        const buffer = Buffer.allocUnsafe(length);
        const { bytesRead } = await file.read(buffer, 0, length, offset);
        return buffer.subarray(0, bytesRead);
      }),
    );
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
      const found = await statfs(this.#root);
      return found.bavail * found.bsize;
    });
  }

  async #writeBeside(path: string, text: string, durable: boolean): Promise<string> {
    const target = this.absolute(path);
    this.#temporary += 1;
    const temporary = join(dirname(target), `.tmp-${String(process.pid)}-${String(this.#temporary)}`);
    const write = (): Promise<void> =>
      using(temporary, 'w', async (file) => {
        await file.writeFile(text);
        if (durable) await file.sync();
      });
    try {
      await write();
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      if (durable) await this.#syncFolder(dirname(dirname(target)));
      await write();
    }
    return temporary;
  }

  #syncAbove(path: string): Promise<void> {
    return this.#syncFolder(dirname(this.absolute(path)));
  }

  #syncFolder(folder: string): Promise<void> {
    return using(folder, 'r', (file) => file.sync());
  }

  #appendNow(path: string, text: string): Promise<void> {
    return using(this.absolute(path), 'a', async (file) => {
      await file.writeFile(text);
      await file.datasync();
    });
  }
}

async function using<T>(path: string, flags: string, work: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, flags, 0o600);
  try {
    return await work(file);
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
