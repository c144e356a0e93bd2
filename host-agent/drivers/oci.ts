import type { Commands } from '../../src/ports/commands.ts';
import type { Disk } from '../../src/ports/disk.ts';
import type { ShimLaunch } from '../../src/wire/shim-files.ts';
import type { Images } from './images.ts';
import { bundleConfig } from './oci-bundle.ts';
import type { AttemptOrder, TaskDriver } from './task-driver.ts';
import { PrepareError } from './task-driver.ts';
import type { TaskFiles } from './task-files.ts';

const PROBE_MS = 10_000;
const DELETE_MS = 30_000;
/** What the runtime keeps of its containers, and the bundles that they were made from. */
const [CONTAINERS, BUNDLES] = ['oci/containers', 'oci/bundles'];

export interface OciParts {
  readonly commands: Commands;
  readonly disk: Disk;
  readonly files: TaskFiles;
  readonly images: Images;
  /** Mount of the unified hierarchy beside those of v1; null where there is none of them. */
  readonly hybrid: string | null;
}

/**
 * Tasks from images: a container that the runtime creates, and the shim takes over from it, so that there is one parent,
 * one log and one end as for all tasks. Needs root.
 *
 * @returns null where there is no runtime
 */
export async function openOci(parts: OciParts): Promise<TaskDriver | null> {
  const { commands } = parts;
  // Unpacking keeps the owners of files, which only root can give them.
  if ((await commands.run(['sh', '-c', '[ "$(id -u)" = 0 ] && command -v bwrap'], PROBE_MS)).code !== 0)
    return null;
  for (const name of ['crun', 'runc'] as const)
    if ((await commands.run([name, '--version'], PROBE_MS)).code === 0) return new Oci(parts, name);
  return null;
}

class Oci implements TaskDriver {
  readonly attributes: Readonly<Record<string, string>>;
  readonly #parts: OciParts;
  readonly #name: 'crun' | 'runc';

  constructor(parts: OciParts, name: 'crun' | 'runc') {
    this.#parts = parts;
    this.#name = name;
    this.attributes = { 'driver.oci': name };
  }

  async prepare(order: AttemptOrder, launch: ShimLaunch): Promise<ShimLaunch> {
    const { disk, images, files } = this.#parts;
    const { image } = order.task;
    if (image === undefined) throw new PrepareError('it names no image');
    const { attempt } = order;
    const bundle = `${BUNDLES}/${attempt}`;
    await disk.remove(bundle);
    const config = bundleConfig(order, launch, {
      root: images.rootOf(image.sha256),
      facts: await images.factsOf(image.sha256),
      work: disk.absolute(`allocations/${order.allocation.id}/work`),
      pathOf: (artifact) => files.pathOf(artifact),
      // The shim puts crun into the task's groups, and what it makes stays there; runc insists on groups of its own.
      cgroupsPath: this.#name === 'runc' ? (order.group ?? null) : null,
    });
    await disk.publish(`${bundle}/config.json`, JSON.stringify(config), { durable: false });
    await disk.makeFolder(CONTAINERS);
    const pidFile = disk.absolute(`${bundle}/pid`);
    const { PATH = '', MOORAGE_ATTEMPT = '' } = launch.env;
    return {
      ...launch,
      env: { PATH, MOORAGE_ATTEMPT },
      command: this.#runtime('create', '--bundle', disk.absolute(bundle), '--pid-file', pidFile, attempt),
      adopt: { pidFile, start: this.#runtime('start', attempt) },
    };
  }

  async cleanup(attempt: string): Promise<boolean> {
    const { disk, commands } = this.#parts;
    if ((await disk.list(CONTAINERS)).includes(attempt))
      await commands.run(this.#runtime('delete', '--force', attempt), DELETE_MS);
    if ((await disk.list(CONTAINERS)).includes(attempt)) return false;
    await disk.remove(`${BUNDLES}/${attempt}`);
    return true;
  }

  async scan(): Promise<readonly string[]> {
    const { disk } = this.#parts;
    const found = await Promise.all([disk.list(CONTAINERS), disk.list(BUNDLES)]);
    return [...new Set(found.flat())];
  }

  #runtime(...args: readonly string[]): readonly string[] {
    const { disk, hybrid } = this.#parts;
    const root = ['--root', disk.absolute(CONTAINERS)];
    if (this.#name === 'runc') return ['runc', ...root, ...args];
    const crun = ['crun', ...root, '--cgroup-manager=disabled', ...args];
    // It refuses a hybrid on sight, so it is not shown one.
    if (hybrid === null) return crun;
    return ['unshare', '-m', 'sh', '-c', 'umount "$0" && exec "$@"', hybrid, ...crun];
  }
}
