import type { Commands } from '../../src/ports/commands.ts';
import type { Disk } from '../../src/ports/disk.ts';
import type { IdRange } from '../../src/core/host/shim.ts';
import type { ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';
import { parseAttemptName } from '../../src/wire/host-files/attempt-files.ts';
import { workFolder } from '../../src/wire/host-files/host-files.ts';
import { DENIED_CALLS } from './denied-calls.ts';
import type { Images } from './images.ts';
import type { Isolation } from './isolation.ts';

import { containerOf } from './oci-bundle.ts';
import { configOf } from './oci-config.ts';
import type { OciRuntime } from './oci-runtime.ts';
import { CONTAINERS } from './oci-runtime.ts';
import type { AttemptOrder, TaskDriver } from './task-driver.ts';
import { PrepareError } from './task-driver.ts';
import type { TaskFiles } from './task-files.ts';
import type { TaskSecrets } from './task-secrets.ts';
import { secretsFor } from './task-secrets.ts';
import type { ShownVolume, TaskVolumes } from '../volumes/volumes.ts';
import { volumesFor } from '../volumes/volumes.ts';
import { idsOfContainer } from './user-namespaces.ts';

const DELETE_MS = 30_000;
const CHOWN_MS = 10_000;
/** What the containers are made from. */
const BUNDLES = 'oci/bundles';
/** In an allocation's folder, as the runtime sees it. */
const ROOT = 'root';

export interface OciParts {
  readonly commands: Commands;
  readonly disk: Disk;
  readonly files: TaskFiles;
  readonly images: Images;
  readonly runtime: OciRuntime;
  /** null: this host keeps none. */
  readonly secrets: TaskSecrets | null;
  /** null: this host keeps none. */
  readonly volumes: TaskVolumes | null;
  readonly isolation: Isolation;
}

/**
 * Tasks from images: a container that the runtime creates, and the shim takes over from it, so that there is one parent,
 * one log and one end as for all tasks. Commands inside enter the container by the shim too, under the same user, with the
 * same calls denied.
 */
export class OciDriver implements TaskDriver {
  readonly attributes: Readonly<Record<string, string>>;
  readonly #parts: OciParts;

  constructor(parts: OciParts) {
    this.#parts = parts;
    const { name, rootless } = parts.runtime;
    this.attributes = { 'driver.oci': name, ...(rootless === null ? {} : { 'driver.oci.rootless': 'true' }) };
  }

  async prepare(order: AttemptOrder, launch: ShimLaunch): Promise<ShimLaunch> {
    const { disk, images, files, runtime } = this.#parts;
    const { image } = order.task;
    if (image === undefined) throw new PrepareError('it names no image');
    const { attempt } = order;
    const bundle = `${BUNDLES}/${attempt}`;
    await disk.remove(bundle);
    const work = disk.absolute(workFolder(order.allocation.id));
    const facts = await images.factsOf(image.sha256);
    const ids = idsOfContainer(order, this.#parts.isolation, facts);
    const folder = disk.absolute(`allocations/${order.allocation.id}`);
    const inside = order.task.user === 'root' ? 0 : facts.uid;
    const secrets = await secretsFor(this.#parts.secrets, order, (ids?.first ?? 0) + inside);
    const owner = this.#parts.runtime.rootless === null ? (ids?.first ?? 0) + inside : undefined;
    const volumes = await volumesFor(this.#parts.volumes, order, owner);
    const container = containerOf(order, launch, {
      root: ids === null ? images.rootOf(image.sha256) : `${folder}/${ROOT}`,
      ...{ facts, secrets, volumes, ids, work },
      pathOf: (artifact) => files.pathOf(artifact),
      // The shim puts crun into the task's groups, and what it makes stays there; runc insists on groups of its own.
      cgroupsPath: runtime.name === 'runc' ? (order.group ?? null) : null,
      rootless: runtime.rootless,
    });
    const { user, env, cwd } = container;
    if (ids === null) await this.#giveFolder(work, user);
    await disk.publish(`${bundle}/config.json`, JSON.stringify(configOf(container)), { durable: false });
    await disk.makeFolder(CONTAINERS);
    const pidFile = disk.absolute(`${bundle}/pid`);
    const { PATH = '', MOORAGE_ATTEMPT = '' } = launch.env;
    return {
      ...launch,
      ...(ids === null ? {} : await this.#rootOf(order, ids, folder, { secrets, volumes })),
      env: { PATH, MOORAGE_ATTEMPT },
      command: runtime.order('create', '--bundle', disk.absolute(bundle), '--pid-file', pidFile, attempt),
      adopt: { pidFile, start: runtime.order('start', attempt) },
      inside: { cwd, env, user, deny: DENIED_CALLS },
    };
  }

  /**
   * The runtime makes the user namespace, and does so in a sight of the machine in which its root can go the ways to what it
   * mounts: the image's files as a root of its own, the folders that the runtime works in, and what the task is given.
   */
  async #rootOf(
    { attempt, task, allocation }: AttemptOrder,
    ids: IdRange,
    folder: string,
    { secrets, volumes }: { readonly secrets: string | null; readonly volumes: readonly ShownVolume[] },
  ): Promise<Partial<ShimLaunch>> {
    const { disk, images, files } = this.#parts;
    const layer = `allocations/${allocation.id}/layers/${attempt}`;
    await disk.remove(layer);
    await disk.makeFolder(layer);
    const shown = [
      ...[`${BUNDLES}/${attempt}`, CONTAINERS].map((path) => disk.absolute(path)),
      ...Object.values(task.artifacts ?? {}).map((artifact) => files.pathOf(artifact)),
      ...(secrets === null ? [] : [secrets]),
      ...volumes.map(({ from }) => from),
    ];
    const { sha256 = '' } = task.image ?? {};
    return {
      own: folder,
      apart: true,
      ids,
      root: { image: images.rootOf(sha256), layer: disk.absolute(layer), at: `${folder}/${ROOT}` },
      show: [...new Set(shown)].map((path) => ({ from: path, to: path })),
    };
  }

  /** An image's user can write to its working folder. */
  async #giveFolder(work: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
    if (uid === 0) return;
    if (this.#parts.runtime.rootless !== null)
      throw new PrepareError(
        `its image runs as user ${String(uid)}, and this host, which has no root, can run it as its root only`,
      );
    const { code, err } = await this.#parts.commands.run(
      ['chown', `${String(uid)}:${String(gid)}`, '--', work],
      CHOWN_MS,
    );
    if (code !== 0) throw new PrepareError(`cannot give it its folder: ${err.trim()}`);
  }

  async cleanup(attempt: string): Promise<boolean> {
    const { disk, commands, runtime } = this.#parts;
    if ((await disk.list(CONTAINERS)).includes(attempt))
      await commands.run(runtime.order('delete', '--force', attempt), DELETE_MS);
    if ((await disk.list(CONTAINERS)).includes(attempt)) return false;
    await disk.remove(`${BUNDLES}/${attempt}`);
    const { allocation } = parseAttemptName(attempt) ?? {};
    if (allocation !== undefined) await disk.remove(`allocations/${allocation}/layers/${attempt}`);
    return true;
  }

  async scan(): Promise<readonly string[]> {
    const { disk } = this.#parts;
    const found = await Promise.all([disk.list(CONTAINERS), disk.list(BUNDLES)]);
    return [...new Set(found.flat())];
  }
}
