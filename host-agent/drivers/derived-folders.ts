import type { Disk } from '../../src/ports/disk.ts';
import type { ArtifactCache, Derived } from '../artifacts/artifacts.ts';

/** Folders made of files in the cache: each is made once, lies under its file's name, and is given up with it. */
export class DerivedFolders implements Derived {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #make: (sha256: string, into: string) => Promise<void>;
  readonly #underWay = new Map<string, Promise<void>>();

  /**
   * @param folder in the state folder, of nothing else
   * @param make fills the folder `into`, which is there and empty; where it throws, nothing of it is kept
   */
  constructor(
    disk: Disk,
    cache: ArtifactCache,
    folder: string,
    make: (sha256: string, into: string) => Promise<void>,
  ) {
    this.#disk = disk;
    this.#folder = folder;
    this.#make = make;
    cache.addDerived(this);
  }

  pathOf(sha256: string): string {
    return `${this.#folder}/${sha256}`;
  }

  remove(sha256: string): Promise<void> {
    return this.#disk.remove(this.pathOf(sha256));
  }

  /** Calls for the same one share the work. @throws what `make` throws */
  async ensure(sha256: string): Promise<void> {
    const work =
      this.#underWay.get(sha256) ?? this.#ensure(sha256).finally(() => this.#underWay.delete(sha256));
    this.#underWay.set(sha256, work);
    await work;
  }

  async #ensure(sha256: string): Promise<void> {
    const disk = this.#disk;
    if ((await disk.list(this.#folder)).includes(sha256)) return;
    const unfinished = `cas/tmp/${sha256}.folder`;
    await disk.remove(unfinished);
    await disk.makeFolder(unfinished);
    try {
      await this.#make(sha256, unfinished);
      await disk.makeFolder(this.#folder);
      await disk.move(unfinished, this.pathOf(sha256));
    } finally {
      await disk.remove(unfinished);
    }
  }
}
