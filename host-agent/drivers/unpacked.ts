import type { Commands } from '../../src/ports/commands.ts';
import type { Disk } from '../../src/ports/disk.ts';
import type { ArtifactCache, Derived } from './artifact-cache.ts';
import { PrepareError } from './task-driver.ts';
import { onBench } from './toolbox.ts';

const TREES = 'cas/tree';
/** Ten gigabytes of small files on a slow disk. */
const UNPACK_MS = 600_000;
/** A small archive can hold a large tree: so much larger at most. */
const TREE_BYTES_MAX = 16 * 1024 * 1024 * 1024;

/** The shell counts, so that no other program is needed. */
const SCRIPT = `set -e
tar -tvf /in >/tmp/list
bytes=0
while read -r mode owner size rest; do
  case $size in *[!0-9]*) ;; *) bytes=$((bytes + size)) ;; esac
done </tmp/list
[ "$bytes" -le ${String(TREE_BYTES_MAX)} ] || { echo "unpacked it has $bytes bytes" >&2; exit 9; }
exec tar -xf /in -C /out --no-same-owner --no-same-permissions --delay-directory-restore`;

/** Archives as folders: each is unpacked once, and given up with its archive. */
export class UnpackedFiles implements Derived {
  readonly #commands: Commands;
  readonly #disk: Disk;
  readonly #cache: ArtifactCache;
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(commands: Commands, disk: Disk, cache: ArtifactCache) {
    this.#commands = commands;
    this.#disk = disk;
    this.#cache = cache;
    cache.addDerived(this);
  }

  pathOf(sha256: string): string {
    return `${TREES}/${sha256}`;
  }

  remove(sha256: string): Promise<void> {
    return this.#disk.remove(this.pathOf(sha256));
  }

  /** @throws PrepareError when it is no archive, or too large a one */
  async ensure(sha256: string): Promise<void> {
    const work =
      this.#underWay.get(sha256) ?? this.#unpack(sha256).finally(() => this.#underWay.delete(sha256));
    this.#underWay.set(sha256, work);
    await work;
  }

  async #unpack(sha256: string): Promise<void> {
    const disk = this.#disk;
    if ((await disk.list(TREES)).includes(sha256)) return;
    const unfinished = `cas/tmp/${sha256}.tree`;
    await disk.remove(unfinished);
    await disk.makeFolder(unfinished);
    const input = disk.absolute(this.#cache.pathOf(sha256));
    const bench = { input, output: disk.absolute(unfinished) };
    const { code, err } = await this.#commands.run(onBench(bench, SCRIPT), UNPACK_MS);
    if (code !== 0) {
      await disk.remove(unfinished);
      throw new PrepareError(`cannot unpack it: ${err.trim().slice(0, REASON_CHARS_MAX)}`);
    }
    await disk.makeFolder(TREES);
    await disk.move(unfinished, this.pathOf(sha256));
  }
}

/** The first words tell; a broken archive can make a thousand lines. */
const REASON_CHARS_MAX = 200;
