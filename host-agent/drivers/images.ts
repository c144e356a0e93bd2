import type { Commands } from '../../src/ports/commands.ts';
import type { Disk } from '../../src/ports/disk.ts';
import type { ImageFacts, ImageParts } from '../../src/wire/host-files/image-files.ts';
import {
  readDockerManifest,
  readImageConfig,
  readOciIndex,
  readOciManifest,
} from '../../src/wire/host-files/image-files.ts';
import type { ArtifactCache } from '../artifacts/artifacts.ts';
import { DerivedFolders } from './derived-folders.ts';
import { PrepareError } from './task-driver.ts';
import { runOnBench } from './toolbox.ts';

/** What is no plain file is no part of a layout, and could lead whoever reads it elsewhere. */
const LAYOUT = `set -e
tar -xf /in -C /out --no-same-owner
find /out ! -type f ! -type d -delete`;

/** What a layer takes away goes first: \`.wh.name\` for a name, \`.wh..wh..opq\` for all that lies in a folder. */
const LAYER = (owners: boolean): string => `set -e
tar -tf /in >/tmp/list
while read -r entry; do
  name=\${entry##*/}
  folder=/out/\${entry%"$name"}
  case $name in
    .wh..wh..opq) find "$folder" -mindepth 1 -delete 2>/dev/null || true ;;
    .wh.*) rm -rf "$folder\${name#.wh.}" ;;
  esac
done </tmp/list
tar -xf /in -C /out ${owners ? '--numeric-owner' : '--no-same-owner'} --exclude='.wh.*' --exclude='dev/*' --exclude='./dev/*'
${owners ? '' : 'chmod -R u+rwX /out'}`;

/** The root is read-only for tasks, so what is mounted in it must have a place. */
const PLACES = `cd /out && mkdir -p proc sys dev tmp work artifacts etc && touch etc/resolv.conf etc/hosts`;

/** Images as file systems. No engine, no registry. */
export class Images {
  readonly #commands: Commands;
  readonly #disk: Disk;
  readonly #cache: ArtifactCache;
  readonly #owners: boolean;
  readonly #folders: DerivedFolders;

  /** @param owners files keep the owners that the image names, which only root can give them */
  constructor(commands: Commands, disk: Disk, cache: ArtifactCache, owners: boolean) {
    this.#commands = commands;
    this.#disk = disk;
    this.#cache = cache;
    this.#owners = owners;
    this.#folders = new DerivedFolders(disk, cache, 'cas/image', (sha256, into) =>
      this.#unpack(sha256, into),
    );
  }

  /** Absolute. */
  rootOf(sha256: string): string {
    return this.#disk.absolute(`${this.#folders.pathOf(sha256)}/rootfs`);
  }

  /** @throws PrepareError */
  async factsOf(sha256: string): Promise<ImageFacts> {
    const facts = readImageConfig(
      (await this.#disk.read(`${this.#folders.pathOf(sha256)}/config.json`)) ?? '',
    );
    if (typeof facts === 'string') throw new PrepareError(facts);
    return facts;
  }

  /** @throws PrepareError when the archive is no image that can be run */
  ensure(sha256: string): Promise<void> {
    return this.#folders.ensure(sha256);
  }

  async #unpack(sha256: string, into: string): Promise<void> {
    const disk = this.#disk;
    const [layout, rootfs] = [`${into}/layout`, `${into}/rootfs`];
    await disk.makeFolder(layout);
    await disk.makeFolder(rootfs);
    await runOnBench(this.#commands, disk, { input: this.#cache.pathOf(sha256), output: layout }, LAYOUT);
    const { config, layers } = await this.#partsOf(layout);
    const text = (await disk.read(`${layout}/${config}`)) ?? '';
    const facts = readImageConfig(text);
    if (typeof facts === 'string') throw new PrepareError(facts);
    for (const layer of layers) await this.#onRoot(`${layout}/${layer}`, rootfs, LAYER(this.#owners));
    await this.#onRoot(layout, rootfs, PLACES);
    await disk.publish(`${into}/config.json`, text);
    await disk.remove(layout);
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

  #onRoot(input: string, output: string, script: string): Promise<void> {
    return runOnBench(this.#commands, this.#disk, { input, output, owners: this.#owners }, script);
  }
}
