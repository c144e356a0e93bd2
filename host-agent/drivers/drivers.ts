/**
 * What a task needs on the machine before it starts. For each attempt the tools below make its control groups
 * (`task-limits.ts`, `../limits/`), fetch and unpack its files (`task-files.ts`, `../artifacts/`, `unpacked.ts`,
 * `derived-folders.ts`), bring its secrets (`task-secrets.ts`) and its volumes (`../volumes/`), and let the driver of its
 * kind prepare the launch. `task-driver.ts` is what a driver must do:
 *
 * - `exec.ts`: a plain process; `isolation.ts` makes it a stranger on its host
 * - `sandbox.ts`: bubblewrap around it; `toolbox.ts` finds the programs of the host
 * - `oci.ts`: a container of an unpacked image (`images.ts`), by crun or runc (`oci-runtime.ts`); `oci-bundle.ts` writes the
 *   bundle, `oci-config.ts` its configuration, `denied-calls.ts` the system calls that it refuses, and what of /proc it covers
 * - `user-namespaces.ts`: in either of these a task may begin as root of a user namespace, and change its user
 */
import { KEEPS_SECRETS } from '../../src/core/host/attributes.ts';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Task, TaskDriverName } from '../../src/core/cell/job.ts';
import type { IdRange } from '../../src/core/host/shim.ts';
import { CgroupError } from '../../src/ports/cgroups.ts';
import type { Commands } from '../../src/ports/commands.ts';
import type { OpenSecret } from '../../src/ports/crypto.ts';
import type { Semaphore } from '../../src/runtime/wait/semaphore.ts';
import type { Launch } from '../../src/wire/api/host-api.ts';
import type { ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';
import { openLimits } from '../limits/control-groups.ts';
import type { DeviceNode, LimitsDriver } from '../limits/limits.ts';
import { LIMITED, NO_LIMITS } from '../limits/limits.ts';
import type { AgentPorts, SignalSender } from '../ports.ts';
import { ArtifactCache } from '../artifacts/artifacts.ts';
import { execDriver } from './exec.ts';
import type { Isolation } from './isolation.ts';
import { isolationAttributes, tryIsolation } from './isolation.ts';
import { Images } from './images.ts';
import { OciDriver } from './oci.ts';
import type { OciRuntimeName } from './oci-runtime.ts';
import { findRuntime, OCI_RUNTIMES } from './oci-runtime.ts';
import { openSandbox } from './sandbox.ts';
import type { AttemptOrder, TaskDriver } from './task-driver.ts';
import { PrepareError } from './task-driver.ts';
import { TaskFiles } from './task-files.ts';
import { TaskSecrets } from './task-secrets.ts';
import { devicesOf, inGroups, limitsOf } from './task-limits.ts';
import { unpackedFiles } from './unpacked.ts';
import { Attachments } from '../volumes/attachments.ts';
import type { VolumeDriverCommand } from '../volumes/volume-driver.ts';
import { VolumeDriver } from '../volumes/volume-driver.ts';
import type { AnnouncedVolume } from '../volumes/volumes.ts';
import { TaskVolumes, VolumeError } from '../volumes/volumes.ts';
import { takeBackFiles } from './user-namespaces.ts';

/** The world as a task of this host sees it. */
export interface TaskPorts extends AgentPorts {
  readonly tools: TaskTools;
  /** Of health checks, all of this host's tasks together. */
  readonly checkSemaphore: Semaphore;
  readonly signals: SignalSender;
}

/** `refused`: it is not to be started, and `why` is for people. */
export type Prepared =
  | { readonly kind: 'ready'; readonly launch: ShimLaunch }
  | { readonly kind: 'refused'; readonly why: string };

export interface ToolsOptions {
  /** Unique on this machine, the same after a restart. */
  readonly owner: string;
  readonly cgroupParent: string;
  /** What the artifacts kept on this host may take. */
  readonly artifactBytesMax: number;
  /** Container runtimes to try, the best first. Default: all. */
  readonly ociRuntimes?: readonly OciRuntimeName[];
  /** The compiled shim, of an agent that may give tasks users of their own; null: it may not. */
  readonly shim: string | null;
  /** One of the host's users for tasks. */
  readonly uid: number;
  /** What an allocation gets of its ids for user namespaces. */
  readonly ids: IdRange;
  /** Nodes of each GPU of the host, in their order. */
  readonly gpuNodes: readonly (readonly DeviceNode[])[];
  /** The shim can make a filter of system calls. */
  readonly filters: boolean;
  /** Opens what is sealed to the hosts; null: this host has not got their key. */
  readonly openSecret: OpenSecret | null;
  /** Folders of the operator's, by the names under which they are announced. */
  readonly volumes: ReadonlyMap<string, AnnouncedVolume>;
  /** Programs that bring volumes of scope `global`, by name. */
  readonly volumeDrivers: ReadonlyMap<string, VolumeDriverCommand>;
  /** Id of this host. */
  readonly host: string;
}

const LOOK_MS = 10_000;
/** What keeps an attempt from being started, and is no fault of the agent. */
const REFUSALS = [CgroupError, PrepareError, VolumeError] as const;

interface FoundDrivers {
  readonly drivers: Map<TaskDriverName, TaskDriver>;
  /** Why this machine cannot run tasks of a kind, for people. */
  readonly missing: Map<TaskDriverName, string>;
}

interface Parts extends Pick<AgentPorts, 'commands' | 'disk'> {
  readonly isolation: Isolation;
  readonly limits: LimitsDriver;
  readonly found: FoundDrivers;
  readonly cache: ArtifactCache | null;
  readonly files: TaskFiles | null;
  readonly secrets: TaskSecrets | null;
  readonly volumes: TaskVolumes | null;
  readonly gpuNodes: ToolsOptions['gpuNodes'];
}

/** What a host runs its tasks with: limits, a driver for each kind of task, and the files that tasks need. */
export class TaskTools {
  /** What the host can do, for constraints: `driver.*`; and what it holds tasks to: `limits.*`. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly limits: LimitsDriver;
  readonly isolation: Isolation;
  readonly #parts: Parts;

  private constructor(parts: Parts, attributes: Readonly<Record<string, string>>) {
    this.limits = parts.limits;
    this.isolation = parts.isolation;
    this.#parts = parts;
    this.attributes = attributes;
  }

  static async open(ports: AgentPorts, options: ToolsOptions): Promise<TaskTools> {
    const { cgroups, disk, log } = ports;
    const { owner, cgroupParent: parent, gpuNodes } = options;
    const limits =
      cgroups === undefined
        ? NO_LIMITS
        : await openLimits(cgroups, log, { owner, parent, folder: disk.absolute('') });
    const cache =
      ports.artifacts === undefined
        ? null
        : new ArtifactCache(ports, ports.artifacts, options.artifactBytesMax);
    await cache?.open();
    const found: FoundDrivers = { drivers: new Map(), missing: new Map() };
    const isolation = await tryIsolation(ports, options.shim, options);
    const secrets = openSecrets(ports, options.openSecret, isolation);
    const volumes =
      ports.commands === undefined
        ? null
        : new TaskVolumes({
            ...{ commands: ports.commands, disk, announced: options.volumes },
            attachments: await openAttachments({ ...ports, commands: ports.commands }, options),
          });
    const files = await openDrivers({ ports, cache, options, isolation, secrets, volumes }, found);
    for (const [driver, why] of found.missing)
      log.info({ driver, why }, 'tasks of a driver cannot be run here');
    if (cgroups !== undefined && limits.enforced.devices === 'none')
      log.warn(
        {},
        'a task may open whatever device the machine lets its user open: to hold it takes the devices of cgroup v1',
      );
    const attributes: Record<string, string> = {};
    for (const driver of found.drivers.values()) Object.assign(attributes, driver.attributes);
    // A host whose tasks are only pretended has nothing to hold.
    if (cgroups !== undefined) {
      Object.assign(attributes, limitAttributes(limits), await diskAttribute(ports));
      Object.assign(attributes, isolationAttributes(isolation));
    }
    if (secrets !== null) attributes[KEEPS_SECRETS] = 'memory';
    Object.assign(attributes, volumes?.attributes);
    const { commands } = ports;
    return new TaskTools(
      {
        ...{ isolation, limits, found, cache, files, secrets, volumes, gpuNodes, disk },
        ...(commands === undefined ? {} : { commands }),
      },
      attributes,
    );
  }

  /** Ends what is under way for tasks that have not begun. Tasks run on. */
  close(): void {
    this.#parts.cache?.close();
  }

  /** Must files be brought before these tasks can start? */
  needsFiles(launch: Launch): boolean {
    return tasksOf(launch).some((task) => task.artifacts !== undefined || task.image !== undefined);
  }

  /** The files of an allocation are in use, until they are released. */
  claimFiles(allocation: string, launch: Launch): void {
    if (this.needsFiles(launch)) this.#parts.files?.claim(allocation, tasksOf(launch));
  }

  releaseFiles(allocation: string): void {
    this.#parts.files?.release(allocation);
  }

  /** Brings the files of an allocation. @returns why that cannot be done, for people; null when it was done */
  async gather(allocation: string, launch: Launch): Promise<string | null> {
    const { files } = this.#parts;
    if (files === null) return this.needsFiles(launch) ? 'this host brings no artifacts' : null;
    this.claimFiles(allocation, launch);
    return files.gather(tasksOf(launch));
  }

  /** What fetches left behind. */
  async strayFiles(): Promise<readonly string[]> {
    return (await this.#parts.cache?.strays()) ?? [];
  }

  async removeStray(name: string): Promise<void> {
    await this.#parts.cache?.removeStray(name);
  }

  /** Makes everything ready for the shim. May be done again. @throws when the disk fails */
  async prepare(order: AttemptOrder, launch: ShimLaunch): Promise<Prepared> {
    const name = order.task.driver ?? 'exec';
    const { drivers, missing } = this.#parts.found;
    const driver = drivers.get(name);
    if (driver === undefined) {
      const why = missing.get(name);
      return {
        kind: 'refused',
        why: `this host has no driver ${name}${why === undefined ? '' : `: ${why}`}`,
      };
    }
    try {
      const devices = devicesOf(order, this.#parts.gpuNodes);
      const groups = await this.limits.create(order.attempt, limitsOf(order.task, devices));
      const placed = { ...order, devices, ...(groups.path === null ? {} : { group: groups.path }) };
      return { kind: 'ready', launch: await driver.prepare(placed, inGroups(launch, groups)) };
    } catch (error) {
      if (!REFUSALS.some((refusal) => error instanceof refusal)) throw error;
      return { kind: 'refused', why: (error as Error).message };
    }
  }

  /** Takes away all that was made for an attempt that has ended. @returns false while something is left */
  async cleanup(attempt: string): Promise<boolean> {
    const drivers = [...this.#parts.found.drivers.values()];
    const clean = await Promise.all(drivers.map((driver) => driver.cleanup(attempt)));
    clean.push((await this.#parts.secrets?.remove(attempt)) ?? true);
    // What a driver could not take away may still need its groups.
    return clean.every(Boolean) && (await this.limits.destroy(attempt));
  }

  /** What the tasks of an allocation left as users of its range becomes its user's. @returns false while it is not done */
  async takeBack(allocation: string, uid: number): Promise<boolean> {
    const { commands, disk } = this.#parts;
    return commands === undefined || takeBackFiles({ commands, disk }, allocation, uid);
  }

  /** Nothing of the allocation runs any more. @returns why a volume of it is still attached, for people; null: none is */
  async detachVolumes(allocation: Allocation): Promise<string | null> {
    return allocation.volumes === undefined
      ? null
      : ((await this.#parts.volumes?.detach(allocation)) ?? null);
  }

  /** What volume drivers have brought here, for whomever. null: this host keeps no volumes. */
  get attachments(): Attachments | null {
    return this.#parts.volumes?.attachments ?? null;
  }

  /** Deletes data of a volume that lies here for good. @returns false: there was none */
  async deleteVolume(namespace: string, claim: string, id: string): Promise<boolean> {
    return (await this.#parts.volumes?.delete(namespace, claim, id)) ?? false;
  }

  /** Attempts of which something is left on this machine, whether they are known or not. */
  async scan(): Promise<readonly string[]> {
    const drivers = [...this.#parts.found.drivers.values()];
    const secrets = this.#parts.secrets?.scan() ?? [];
    const found = await Promise.all([this.limits.list(), secrets, ...drivers.map((driver) => driver.scan())]);
    return [...new Set(found.flat())].sort();
  }
}

/** With the drivers whose program is there. */
async function openAttachments(
  ports: AgentPorts & { readonly commands: Commands },
  { volumeDrivers, host }: ToolsOptions,
): Promise<Attachments> {
  const { commands, disk, clock, log, metrics } = ports;
  const drivers = new Map<string, VolumeDriver>();
  for (const [name, driver] of volumeDrivers) {
    const made = new VolumeDriver(commands, driver, host);
    if (await made.isThere()) drivers.set(name, made);
    else
      log.error({ driver: name, command: driver.command }, 'a volume driver is no program that can be run');
  }
  return new Attachments({ disk, clock, log, metrics, drivers });
}

function tasksOf(launch: Launch): readonly Task[] {
  return Object.values(launch.tasks);
}

function limitAttributes(limits: LimitsDriver): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const limited of LIMITED) attributes[`limits.${limited}`] = limits.enforced[limited];
  return attributes;
}

/** The agent itself measures what allocations have on disk, see `disk-watch.ts`. */
async function diskAttribute({ commands }: AgentPorts): Promise<Record<string, string>> {
  const found = await commands?.run(['sh', '-c', 'command -v nice && command -v du'], LOOK_MS);
  return { 'limits.disk': found?.code === 0 ? 'watched' : 'none' };
}

interface Opening {
  readonly ports: AgentPorts;
  readonly cache: ArtifactCache | null;
  readonly options: ToolsOptions;
  readonly isolation: Isolation;
  readonly secrets: TaskSecrets | null;
  readonly volumes: TaskVolumes | null;
}

/** @returns null: a task could read those of another here, or this host has not got the key */
function openSecrets(
  { commands, disk }: AgentPorts,
  open: OpenSecret | null,
  { user, view }: Isolation,
): TaskSecrets | null {
  return open === null || commands === undefined || !user || !view
    ? null
    : new TaskSecrets({ commands, disk, open });
}

/** Those that work on this machine, into `found`. @returns what brings the files of their tasks */
async function openDrivers(
  { ports, cache, options, isolation, secrets, volumes }: Opening,
  found: FoundDrivers,
): Promise<TaskFiles | null> {
  const { cgroups, commands, disk } = ports;
  if (commands === undefined || cache === null) {
    found.drivers.set('exec', execDriver({ commands, disk, files: null, isolation, secrets, volumes }));
    return null;
  }
  const mounts = (await cgroups?.mounts()) ?? [];
  const unified = mounts.find((mount) => mount.version === 2)?.path ?? null;
  const hybrid = mounts.some((mount) => mount.version === 1) ? unified : null;
  const probeGroup = `${options.cgroupParent}/moorage/${options.owner}.probe`;
  const runtime = await findRuntime(
    { commands, disk, hybrid, probeGroup },
    options.ociRuntimes ?? OCI_RUNTIMES,
  );
  const owners = typeof runtime !== 'string' && runtime.rootless === null;
  const images = new Images(commands, disk, cache, owners);
  const files = new TaskFiles(disk, cache, unpackedFiles(commands, disk, cache), images);
  found.drivers.set('exec', execDriver({ commands, disk, files, isolation, secrets, volumes }));
  const { uid, filters } = options;
  const sandbox = await openSandbox({ commands, disk, files, isolation, secrets, volumes, uid, filters });
  if (typeof sandbox === 'string') found.missing.set('sandbox', sandbox);
  else found.drivers.set('sandbox', sandbox);
  if (typeof runtime === 'string') found.missing.set('oci', runtime);
  else
    found.drivers.set(
      'oci',
      new OciDriver({ commands, disk, files, images, runtime, secrets, volumes, isolation }),
    );
  return files;
}
