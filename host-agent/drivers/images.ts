import type { Commands } from '../../src/ports/commands.ts';
import type { Disk } from '../../src/ports/disk.ts';
import type { ImageFacts, ImageParts } from '../../src/wire/image-files.ts';
import {
  readDockerManifest,
  readImageConfig,
  readOciIndex,
  readOciManifest,
} from '../../src/wire/image-files.ts';
import type { ArtifactCache, Derived } from './artifact-cache.ts';
import { PrepareError } from './task-driver.ts';
import type { Bench } from './toolbox.ts';
import { onBench } from './toolbox.ts';

const IMAGES = 'cas/image';
const STEP_MS = 600_000;
const REASON_CHARS_MAX = 200;

/** What is no plain file is no part of a layout, and could lead whoever reads it elsewhere. */
const LAYOUT = `set -e
tar -xf /in -C /out --no-same-owner
find /out ! -type f ! -type d -delete`;

/** What a layer takes away goes first: \`.wh.name\` for a name, \`.wh..wh..opq\` for all that lies in a folder. */
const LAYER = `set -e
tar -tf /in >/tmp/list
while read -r entry; do
  name=\${entry##*/}
  folder=/out/\${entry%"$name"}
  case $name in
    .wh..wh..opq) find "$folder" -mindepth 1 -delete 2>/dev/null || true ;;
    .wh.*) rm -rf "$folder\${name#.wh.}" ;;
  esac
done </tmp/list
tar -xf /in -C /out --numeric-owner --exclude='.wh.*' --exclude='dev/*' --exclude='./dev/*'`;

/** The root is read-only for tasks, so what is mounted in it must have a place. */
const PLACES = `cd /out && mkdir -p proc sys dev tmp work artifacts etc && touch etc/resolv.conf etc/hosts`;

/** Images as file systems: each is unpacked once, and given up with its archive. No engine, no registry. */
export class Images implements Derived {
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

  /** Absolute. */
  rootOf(sha256: string): string {
    return this.#disk.absolute(`${IMAGES}/${sha256}/rootfs`);
  }

  /** @throws PrepareError */
  async factsOf(sha256: string): Promise<ImageFacts> {
    const facts = readImageConfig((await this.#disk.read(`${IMAGES}/${sha256}/config.json`)) ?? '');
    if (typeof facts === 'string') throw new PrepareError(facts);
    return facts;
  }

  remove(sha256: string): Promise<void> {
    return this.#disk.remove(`${IMAGES}/${sha256}`);
  }

  /** @throws PrepareError when the archive is no image that can be run */
  async ensure(sha256: string): Promise<void> {
    const work =
      this.#underWay.get(sha256) ?? this.#unpack(sha256).finally(() => this.#underWay.delete(sha256));
    this.#underWay.set(sha256, work);
    await work;
  }

  async #unpack(sha256: string): Promise<void> {
    const disk = this.#disk;
    if ((await disk.list(IMAGES)).includes(sha256)) return;
    const unfinished = `cas/tmp/${sha256}.image`;
    const [layout, rootfs] = [`${unfinished}/layout`, `${unfinished}/rootfs`];
    await disk.remove(unfinished);
    await disk.makeFolder(layout);
    await disk.makeFolder(rootfs);
    try {
      await this.#on({ input: this.#cache.pathOf(sha256), output: layout }, LAYOUT);
      const { config, layers } = await this.#partsOf(layout);
      const text = (await disk.read(`${layout}/${config}`)) ?? '';
      const facts = readImageConfig(text);
      if (typeof facts === 'string') throw new PrepareError(facts);
      for (const layer of layers)
        await this.#on({ input: `${layout}/${layer}`, output: rootfs, owners: true }, LAYER);
      await this.#on({ input: layout, output: rootfs, owners: true }, PLACES);
      await disk.publish(`${unfinished}/config.json`, text);
      await disk.remove(layout);
      await disk.makeFolder(IMAGES);
      await disk.move(unfinished, `${IMAGES}/${sha256}`);
    } finally {
      await disk.remove(unfinished);
    }
  }

  async #partsOf(layout: string): Promise<ImageParts> {
    const read = async (path: string): Promise<string> => (await this.#disk.read(`${layout}/${path}`)) ?? '';
    const manifest = readOciIndex(await read('index.json'));
    const parts =
      readDockerManifest(await read('manifest.json')) ??
      (manifest === null ? null : readOciManifest(await read(manifest)));
    if (parts === null)
      throw new PrepareError('it is no image: neither docker save nor an OCI layout wrote it');
    return parts;
  }

  async #on(bench: Bench, script: string): Promise<void> {
    const absolute = {
      ...bench,
      input: this.#disk.absolute(bench.input),
      output: this.#disk.absolute(bench.output),
    };
    const { code, err } = await this.#commands.run(onBench(absolute, script), STEP_MS);
    if (code !== 0) throw new PrepareError(`cannot unpack it: ${err.trim().slice(0, REASON_CHARS_MAX)}`);
  }
}
