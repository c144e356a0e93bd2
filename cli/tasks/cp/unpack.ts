import { chmod, link, lstat, mkdir, open, rm, symlink } from 'node:fs/promises';
import { dirname, join, normalize, relative, resolve, sep } from 'node:path';
import type { TarEntry } from './tar-reader.ts';
import { TarError } from './tar-reader.ts';

export interface Unpacked {
  readonly files: number;
  readonly bytes: number;
  /** Neither files, folders nor links within the folder, with the reason. */
  readonly leftOut: readonly string[];
}

/**
 * Puts entries into the folder `root`, from any archive: nothing is written outside it, and no link that is in it, from
 * this archive or from before, is gone through. What leads out is refused; a link that only points out is left out. Modes
 * are kept, but for those that give another's rights.
 * @throws TarError for a path that leaves the folder
 */
export async function unpack(entries: AsyncIterable<TarEntry>, root: string): Promise<Unpacked> {
  const work = new Unpacking(resolve(root));
  for await (const entry of entries) await work.put(entry);
  return work.finish();
}

class Unpacking {
  readonly #root: string;
  readonly #modes = new Map<string, number>();
  readonly #leftOut: string[] = [];
  #files = 0;
  #bytes = 0;

  constructor(root: string) {
    this.#root = root;
  }

  async put(entry: TarEntry): Promise<void> {
    const path = this.#inside(entry.path);
    switch (entry.kind) {
      case 'folder':
        await this.#folder(path);
        this.#modes.set(path, entry.mode & 0o777);
        return;
      case 'file':
        await this.#folder(dirname(path));
        return this.#file(path, entry);
      case 'link':
        await this.#folder(dirname(path));
        return this.#link(path, entry);
      case 'hard-link': {
        const target = this.#inside(entry.target);
        await this.#folder(dirname(path));
        await this.#folder(dirname(target));
        await rm(path, { force: true });
        await link(target, path);
        return;
      }
      case 'other':
        this.#leftOut.push(`${entry.path}: it is neither file nor folder`);
    }
  }

  /** A folder that cannot be written to must be filled first. */
  async finish(): Promise<Unpacked> {
    for (const [path, mode] of [...this.#modes].reverse()) await chmod(path, mode);
    return { files: this.#files, bytes: this.#bytes, leftOut: this.#leftOut };
  }

  #inside(path: string): string {
    const within = normalize(path);
    if (path === '' || within.startsWith(sep) || within.split(sep).includes('..') || path.includes('\0'))
      throw new TarError(`${path} would leave the folder that it is copied to`);
    return resolve(this.#root, within);
  }

  /** Makes it with those above it, and makes sure that each of them is a folder. */
  async #folder(path: string): Promise<void> {
    if (this.#modes.has(path)) return;
    if (path !== this.#root) await this.#folder(dirname(path));
    const found = await lstat(path).catch(() => null);
    if (found === null) await mkdir(path, path === this.#root ? { recursive: true } : {});
    else if (!found.isDirectory())
      throw new TarError(`${relative('', path)} is no folder here, and was to be one`);
    this.#modes.set(path, found === null ? 0o755 : found.mode & 0o777);
    if (found !== null && (found.mode & 0o300) !== 0o300) await chmod(path, 0o700);
  }

  async #file(path: string, { mode, body }: TarEntry): Promise<void> {
    await rm(path, { force: true });
    const file = await open(path, 'wx', 0o600);
    try {
      for await (const part of body) {
        await file.write(part);
        this.#bytes += part.length;
      }
      await file.chmod(mode & 0o777);
    } finally {
      await file.close();
    }
    this.#files += 1;
  }

  async #link(path: string, entry: TarEntry): Promise<void> {
    const leads = relative(this.#root, resolve(dirname(path), entry.target));
    if (entry.target.startsWith(sep) || leads === '..' || leads.startsWith(`..${sep}`)) {
      this.#leftOut.push(`${entry.path}: it is a link to ${entry.target}, outside of the folder`);
      return;
    }
    await rm(path, { force: true });
    await symlink(entry.target, path);
    this.#files += 1;
  }
}

/** Where a copy named `name` goes that was asked to go to `to`: into it, when it is a folder already. */
export async function targetOf(to: string, name: string): Promise<string> {
  const found = await lstat(to).catch(() => null);
  const isFolder = found?.isDirectory() === true || to.endsWith(sep);
  return isFolder ? join(to, name) : to;
}
