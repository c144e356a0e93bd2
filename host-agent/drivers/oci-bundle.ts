import type { Artifact } from '../../src/core/job.ts';
import type { ImageFacts } from '../../src/wire/image-files.ts';
import type { ShimLaunch } from '../../src/wire/shim-files.ts';
import type { AttemptOrder } from './task-driver.ts';
import { artifactEnv, ARTIFACTS } from './task-files.ts';

export interface BundlePlaces {
  /** Absolute paths on the host. */
  readonly root: string;
  readonly work: string;
  readonly facts: ImageFacts;
  readonly cgroupsPath: string | null;
  pathOf(artifact: Artifact): string;
}

const WORK = '/work';

/**
 * `config.json` of a bundle. The host's policy, and no part of it the job's: no capability, no new privileges, a root that
 * is read-only and shared by all containers of the image, and namespaces for all but, if asked for, the network.
 */
export function bundleConfig(order: AttemptOrder, launch: ShimLaunch, places: BundlePlaces): object {
  const { task } = order;
  const { facts } = places;
  const network = task.network ?? 'none';
  const env = {
    ...launch.env,
    ...facts.env,
    ...taskEnv(order, launch),
    ...artifactEnv(task, ARTIFACTS),
    HOME: WORK,
  };
  return {
    ociVersion: '1.0.2',
    process: {
      terminal: launch.pty !== undefined,
      user: { uid: facts.uid, gid: facts.gid },
      args: launch.command,
      env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      cwd: facts.workingFolder,
      capabilities: { bounding: [], effective: [], permitted: [], inheritable: [], ambient: [] },
      noNewPrivileges: true,
    },
    root: { path: places.root, readonly: true },
    hostname: order.allocation.id.slice(0, HOST_NAME_MAX),
    mounts: [...SYSTEM_MOUNTS, ...networkMounts(network), ...ownMounts(order, places)],
    linux: {
      ...(places.cgroupsPath === null ? {} : { cgroupsPath: places.cgroupsPath }),
      namespaces: ['pid', 'ipc', 'uts', 'mount', ...(network === 'none' ? ['network'] : [])].map((type) => ({
        type,
      })),
      maskedPaths: ['/proc/kcore', '/proc/keys', '/proc/latency_stats', '/proc/timer_list', '/sys/firmware'],
      readonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
    },
  };
}

const HOST_NAME_MAX = 63;

/** What the job itself set, and what is said of the task, come before what the image says; the host's PATH does not. */
function taskEnv({ task }: AttemptOrder, launch: ShimLaunch): Record<string, string> {
  const own = Object.entries(launch.env).filter(
    ([name]) => name in task.env || /^(MOORAGE|ALLOC)_/.test(name),
  );
  return Object.fromEntries(own);
}

const mount = (destination: string, type: string, source: string, ...options: string[]) => ({
  ...{ destination, type, source, options },
});

const SYSTEM_MOUNTS = [
  mount('/proc', 'proc', 'proc', 'nosuid', 'noexec', 'nodev'),
  mount('/dev', 'tmpfs', 'tmpfs', 'nosuid', 'strictatime', 'mode=755', 'size=64k'),
  mount('/dev/pts', 'devpts', 'devpts', 'nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620'),
  mount('/dev/shm', 'tmpfs', 'shm', 'nosuid', 'noexec', 'nodev', 'mode=1777', 'size=64m'),
  mount('/sys', 'sysfs', 'sysfs', 'nosuid', 'noexec', 'nodev', 'ro'),
  mount('/tmp', 'tmpfs', 'tmpfs', 'nosuid', 'nodev', 'mode=1777'),
];

function networkMounts(network: 'host' | 'none'): readonly object[] {
  if (network === 'none') return [];
  return ['/etc/resolv.conf', '/etc/hosts'].map((path) =>
    mount(path, 'bind', path, 'bind', 'ro', 'nosuid', 'nodev'),
  );
}

function ownMounts({ task }: AttemptOrder, places: BundlePlaces): readonly object[] {
  const artifacts = Object.entries(task.artifacts ?? {});
  return [
    mount(WORK, 'bind', places.work, 'bind', 'rw', 'nosuid', 'nodev'),
    ...(artifacts.length === 0
      ? []
      : [mount(ARTIFACTS, 'tmpfs', 'tmpfs', 'nosuid', 'nodev', 'mode=755', 'size=64k')]),
    ...artifacts.map(([name, artifact]) =>
      mount(`${ARTIFACTS}/${name}`, 'bind', places.pathOf(artifact), 'bind', 'ro', 'nosuid', 'nodev'),
    ),
  ];
}
