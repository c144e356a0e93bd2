import type { Artifact, Task } from '../../src/core/cell/job.ts';
import { FetchError } from '../../src/ports/artifacts.ts';
import type { Disk } from '../../src/ports/disk.ts';
import type { ArtifactCache } from '../artifacts/artifacts.ts';
import type { DerivedFolders } from './derived-folders.ts';
import type { Images } from './images.ts';
import { PrepareError } from './task-driver.ts';

/** Where a task in namespaces of its own finds its artifacts. */
export const ARTIFACTS = '/artifacts';

/** What tasks need of files that are not on the host by themselves. */
export class TaskFiles {
  readonly #disk: Disk;
  readonly #cache: ArtifactCache;
  readonly #unpacked: DerivedFolders;
  readonly #images: Images;

  constructor(disk: Disk, cache: ArtifactCache, unpacked: DerivedFolders, images: Images) {
    this.#disk = disk;
    this.#cache = cache;
    this.#unpacked = unpacked;
    this.#images = images;
  }

  /** The files of these tasks are in use from now on. @param user whose they are, until `release` */
  claim(user: string, tasks: readonly Task[]): void {
    this.#cache.pin(
      user,
      tasks.flatMap(artifactsOf).map((artifact) => artifact.sha256),
    );
  }

  release(user: string): void {
    this.#cache.unpin(user);
  }

  /** Brings all of them here. @returns why that cannot be done, for people; null when it was done */
  async gather(tasks: readonly Task[]): Promise<string | null> {
    for (const task of tasks) {
      const { image } = task;
      const why =
        image === undefined ? null : await this.#bring(image, () => this.#images.ensure(image.sha256));
      if (why !== null) return `task ${task.name} lacks its image: ${why}`;
      for (const [name, artifact] of Object.entries(task.artifacts ?? {})) {
        const unpack = (): Promise<void> => this.#unpacked.ensure(artifact.sha256);
        const lacks = await this.#bring(artifact, artifact.unpack ? unpack : null);
        if (lacks !== null) return `task ${task.name} lacks its artifact ${name}: ${lacks}`;
      }
    }
    return null;
  }

  /** Absolute path of a file, or of the folder that it was unpacked to. */
  pathOf({ sha256, unpack }: Artifact): string {
    return this.#disk.absolute(unpack ? this.#unpacked.pathOf(sha256) : this.#cache.pathOf(sha256));
  }

  async #bring(artifact: Artifact, unpack: (() => Promise<void>) | null): Promise<string | null> {
    try {
      await this.#cache.ensure(artifact);
      await unpack?.();
      return null;
    } catch (error) {
      if (error instanceof FetchError || error instanceof PrepareError) return error.message;
      throw error;
    }
  }
}

function artifactsOf(task: Task): readonly Artifact[] {
  return [...Object.values(task.artifacts ?? {}), ...(task.image === undefined ? [] : [task.image])];
}

/** `MOORAGE_ARTIFACT_<NAME>`: where each artifact is, as the task sees it. */
export function artifactEnv(task: Task, folder: string): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of Object.keys(task.artifacts ?? {}))
    env[`MOORAGE_ARTIFACT_${name.toUpperCase().replaceAll('-', '_')}`] = `${folder}/${name}`;
  return env;
}
