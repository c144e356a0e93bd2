/**
 * Volumes of tasks: folders of this host, folders that its operator announces, and data that a volume driver brings. This
 * file shows them to tasks; `volume-driver.ts` runs a driver's program, and `attachments.ts` knows what is attached for whom.
 */
import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Task } from '../../src/core/cell/job.ts';
import type { VolumeUse } from '../../src/core/cell/volume.ts';
import {
  isClaimName,
  KEEPS_VOLUMES,
  volumeAttribute,
  volumeDriverAttribute,
} from '../../src/core/cell/volume.ts';
import { isId } from '../../src/core/cell/ids.ts';
import type { Commands } from '../../src/ports/commands.ts';
import type { Disk } from '../../src/ports/disk.ts';
import type { Attachments } from './attachments.ts';

/** Where a task in namespaces of its own finds its volumes, unless it says so itself. */
const VOLUMES = '/volumes';

/** In the state folder: a folder for each namespace and claim, and in it one for each data. */
export const VOLUME_FOLDERS = 'volumes';

/** Of some million files. */
const GIVE_MS = 600_000;
/** What everybody may write to, and nobody remove others' from. */
const COMMON_MODE = '1777';

/** A folder of the operator's that this host announces. */
export interface AnnouncedVolume {
  readonly path: string;
  readonly readOnly: boolean;
}

/** A volume as a driver shows it to its task. */
export interface ShownVolume {
  readonly name: string;
  /** Absolute path on the host. */
  readonly from: string;
  /** Of a task with a root of its own. */
  readonly at: string;
  readonly access: 'ro' | 'rw';
}

/** A task cannot have its volumes here as ordered; the message says why, for people. */
export class VolumeError extends Error {
  override readonly name = 'VolumeError';
}

/** Whose volumes they are. */
export interface VolumeOrder {
  readonly allocation: Allocation;
  readonly task: Task;
}

export interface TaskVolumesParts {
  readonly commands: Commands;
  readonly disk: Disk;
  readonly announced: ReadonlyMap<string, AnnouncedVolume>;
  readonly attachments: Attachments;
}

/**
 * Volumes of tasks: folders that stay when their allocations go. What one allocation has alone is given to the user of its
 * tasks when it starts, since each has another one; what several share everybody may write to.
 */
export class TaskVolumes {
  readonly #parts: TaskVolumesParts;

  constructor(parts: TaskVolumesParts) {
    this.#parts = parts;
  }

  get attributes(): Readonly<Record<string, string>> {
    const announced = [...this.#parts.announced].map(([name, { readOnly }]) => [
      volumeAttribute(name),
      readOnly ? 'ro' : 'rw',
    ]);
    const drivers = this.#parts.attachments.drivers.map((name) => [volumeDriverAttribute(name), 'true']);
    const found = Object.fromEntries([...announced, ...drivers]) as Record<string, string>;
    return { [KEEPS_VOLUMES]: 'true', ...found };
  }

  /**
   * May be done again.
   * @param uid whose the data becomes; undefined: the agent's own user runs the task
   * @throws VolumeError
   */
  async bring({ allocation, task }: VolumeOrder, uid: number | undefined): Promise<readonly ShownVolume[]> {
    const shown: ShownVolume[] = [];
    for (const [name, { path, readOnly }] of Object.entries(task.mounts ?? {})) {
      const use = allocation.volumes?.find((one) => one.name === name);
      if (use === undefined) throw new VolumeError(`it was placed without its volume ${name}`);
      const access = use.readOnly === true || readOnly === true ? 'ro' : 'rw';
      const from = await this.#folderOf(allocation, use);
      if (access === 'rw' && use.access === 'exclusive' && uid !== undefined) await this.#give(from, uid);
      shown.push({ name, from, at: path ?? `${VOLUMES}/${name}`, access });
    }
    return shown;
  }

  /** Nothing of the allocation runs any more. @returns why a driver has not taken back what it brought, for people; null: it has */
  detach(allocation: Allocation): Promise<string | null> {
    return this.#parts.attachments.detachAll(allocation);
  }

  get attachments(): Attachments {
    return this.#parts.attachments;
  }

  /** Deletes data that lies here for good. @returns false: there was none */
  async delete(namespace: string, claim: string, id: string): Promise<boolean> {
    const { disk } = this.#parts;
    const folder = `${VOLUME_FOLDERS}/${namespace}/${claim}`;
    if (!(await disk.list(folder)).includes(id)) return false;
    await disk.remove(`${folder}/${id}`);
    return true;
  }

  async #folderOf(allocation: Allocation, use: VolumeUse): Promise<string> {
    if (use.driver !== undefined) return this.#brought(allocation, use);
    return use.source === undefined
      ? this.#own(allocation.namespace, use, use.id === allocation.id)
      : this.#announced(use.source, use.readOnly === true);
  }

  async #brought(allocation: Allocation, use: VolumeUse): Promise<string> {
    const brought = await this.#parts.attachments.attach(allocation, use);
    if ('why' in brought) throw new VolumeError(brought.why);
    if (use.access === 'shared' && use.readOnly !== true)
      await this.#run(['chmod', COMMON_MODE, '--', brought.path]);
    return brought.path;
  }

  #announced(source: string, readOnly: boolean): string {
    const found = this.#parts.announced.get(source);
    if (found === undefined) throw new VolumeError(`this host announces no volume ${source} any more`);
    if (found.readOnly && !readOnly) throw new VolumeError(`the volume ${source} of this host is read-only`);
    return found.path;
  }

  /** Data that another allocation began must be there: an empty folder in its place would be taken for it. */
  async #own(namespace: string, use: VolumeUse, isFirst: boolean): Promise<string> {
    const { disk } = this.#parts;
    const { claim, id } = use;
    if (!isClaimName(claim) || !isId(id) || !isId(namespace))
      throw new VolumeError(`volume ${claim} is none`);
    const folder = `${VOLUME_FOLDERS}/${namespace}/${claim}`;
    if ((await disk.list(folder)).includes(id)) return disk.absolute(`${folder}/${id}`);
    if (!isFirst)
      throw new VolumeError(
        `the data of volume ${claim} is not on this host any more; to begin again without it: moorage volume delete ${claim} --lost`,
      );
    await disk.makeFolder(`${folder}/${id}`);
    const path = disk.absolute(`${folder}/${id}`);
    await this.#run(['chmod', '700', '--', disk.absolute(VOLUME_FOLDERS)]);
    await this.#run(['chmod', use.access === 'shared' ? COMMON_MODE : '0700', '--', path]);
    return path;
  }

  /** The folder itself changes hands last, so that what was interrupted is done again. */
  async #give(path: string, uid: number): Promise<void> {
    const owner = String(uid);
    const order = '[ "$(stat -c %u -- "$1")" = "$2" ] || chown -R -h "$2:$2" -- "$1"';
    await this.#run(['sh', '-c', order, 'sh', path, owner]);
  }

  async #run(command: readonly string[]): Promise<void> {
    const { code, err } = await this.#parts.commands.run(command, GIVE_MS);
    if (code !== 0) throw new VolumeError(`cannot bring its volumes: ${err.trim()}`);
  }
}

/** @throws VolumeError where this host keeps none */
export function volumesFor(
  volumes: TaskVolumes | null,
  order: VolumeOrder,
  uid: number | undefined,
): Promise<readonly ShownVolume[]> | readonly ShownVolume[] {
  if (order.task.mounts === undefined) return NONE;
  if (volumes === null) throw new VolumeError('this host keeps no volumes');
  return volumes.bring(order, order.task.user === 'agent' ? undefined : uid);
}

const NONE: readonly ShownVolume[] = Object.freeze([]);

/** `MOORAGE_VOLUME_<NAME>`: where each is, as the task sees it. */
export function volumeEnv(
  volumes: readonly ShownVolume[],
  pathOf: (volume: ShownVolume) => string,
): Record<string, string> {
  return Object.fromEntries(
    volumes.map((one) => [`MOORAGE_VOLUME_${one.name.toUpperCase().replaceAll('-', '_')}`, pathOf(one)]),
  );
}
