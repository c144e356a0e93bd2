import type { Artifact } from '../../src/core/cell/job.ts';
import type { ImageFacts } from '../../src/wire/host-files/image-files.ts';
import type { ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';
import type { Container } from './oci-config.ts';
import { bind, mountOf } from './oci-config.ts';
import type { AttemptOrder } from './task-driver.ts';
import { artifactEnv, ARTIFACTS } from './task-files.ts';
import { SECRETS, SECRETS_ENV } from './task-secrets.ts';
import type { ShownVolume } from '../volumes/volumes.ts';
import { volumeEnv } from '../volumes/volumes.ts';

export interface BundlePlaces {
  /** Absolute paths on the host. */
  readonly root: string;
  readonly work: string;
  readonly facts: ImageFacts;
  readonly cgroupsPath: string | null;
  readonly rootless: Container['rootless'];
  /** Of its user namespace; null: it has none. */
  readonly ids: Container['ids'];
  /** Absolute path of its secrets' folder; null: it has none. */
  readonly secrets: string | null;
  readonly volumes: readonly ShownVolume[];
  pathOf(artifact: Artifact): string;
}

const WORK = '/work';
const HOST_NAME_MAX = 63;

/** The container of one attempt at a task. */
export function containerOf(order: AttemptOrder, launch: ShimLaunch, places: BundlePlaces): Container {
  const { task, allocation } = order;
  const asRoot = task.user === 'root';
  const { facts, root, cgroupsPath, rootless, ids } = places;
  return {
    ...{ root, cgroupsPath, rootless, ids, asRoot },
    args: launch.command,
    env: {
      ...launch.env,
      ...facts.env,
      ...taskEnv(order, launch),
      ...artifactEnv(task, ARTIFACTS),
      ...(places.secrets === null ? {} : { [SECRETS_ENV]: SECRETS }),
      ...volumeEnv(places.volumes, ({ at }) => at),
      HOME: WORK,
    },
    cwd: facts.workingFolder,
    user: asRoot ? { uid: 0, gid: 0 } : { uid: facts.uid, gid: facts.gid },
    hostname: allocation.id.slice(0, HOST_NAME_MAX),
    network: task.network ?? 'none',
    mounts: ownMounts(order, places),
    terminal: launch.pty !== undefined,
    devices: order.devices ?? [],
  };
}

/** What the job itself set, and what is said of the task, come before what the image says; the host's PATH does not. */
function taskEnv({ task }: AttemptOrder, launch: ShimLaunch): Record<string, string> {
  const own = Object.entries(launch.env).filter(
    ([name]) => name in task.env || /^(MOORAGE|ALLOC)_/.test(name),
  );
  return Object.fromEntries(own);
}

function ownMounts({ task }: AttemptOrder, places: BundlePlaces): readonly object[] {
  const artifacts = Object.entries(task.artifacts ?? {});
  return [
    bind(places.work, WORK, 'rw'),
    ...places.volumes.map(({ from, at, access }) => bind(from, at, access)),
    ...(places.secrets === null ? [] : [bind(places.secrets, SECRETS, 'ro')]),
    ...(artifacts.length === 0
      ? []
      : [mountOf(ARTIFACTS, 'tmpfs', 'tmpfs', 'nosuid', 'nodev', 'mode=755', 'size=64k')]),
    ...artifacts.map(([name, artifact]) => bind(places.pathOf(artifact), `${ARTIFACTS}/${name}`, 'ro')),
  ];
}
