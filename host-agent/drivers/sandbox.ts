import type { Task } from '../../src/core/cell/job.ts';
import type { IdRange } from '../../src/core/host/shim.ts';
import type { Commands } from '../../src/ports/commands.ts';
import type { Disk } from '../../src/ports/disk.ts';
import type { ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';
import { DENIED_CALLS, MASKED_PATHS, READ_ONLY_PATHS } from './denied-calls.ts';
import type { Isolation } from './isolation.ts';
import { asStranger } from './isolation.ts';
import type { AttemptOrder, TaskDriver } from './task-driver.ts';
import { PrepareError } from './task-driver.ts';
import type { TaskSecrets } from './task-secrets.ts';
import { SECRETS, SECRETS_ENV, secretsFor } from './task-secrets.ts';
import type { ShownVolume, TaskVolumes } from '../volumes/volumes.ts';
import { volumeEnv, volumesFor } from '../volumes/volumes.ts';
import type { TaskFiles } from './task-files.ts';
import { artifactEnv, ARTIFACTS } from './task-files.ts';
import { SYSTEM_FOLDERS } from './toolbox.ts';
import { asRoot, idsFor, ROOT_CAPABILITIES } from './user-namespaces.ts';

/** A probe is one start of `true`: milliseconds, unless the machine is overrun. */
const PROBE_MS = 10_000;

/** Where a sandboxed task's working folder is, whatever it is outside. */
const WORK = '/work';

/** Of the host's settings, what programs cannot do without. */
const ETC = [
  ...[
    'alternatives',
    'ca-certificates',
    'ca-certificates.conf',
    'group',
    'hosts',
    'ld.so.cache',
    'ld.so.conf',
  ],
  ...[
    'ld.so.conf.d',
    'localtime',
    'nsswitch.conf',
    'passwd',
    'pki',
    'protocols',
    'services',
    'ssl',
    'timezone',
  ],
];

/** Signals that a stop may begin with: the sandbox itself must outlive them, or its task would have no time to end. */
const STOPS = 'TERM,INT,HUP,QUIT,USR1,USR2';

/** Where the filter of system calls lies for bubblewrap: above what a shell or `env` opens. */
const CALLS_FD = 9;

export interface SandboxParts {
  readonly commands: Commands;
  readonly disk: Disk;
  readonly files: TaskFiles | null;
  readonly isolation: Isolation;
  /** null: this host keeps none. */
  readonly secrets: TaskSecrets | null;
  /** null: this host keeps none. */
  readonly volumes: TaskVolumes | null;
  /** One of the host's users for tasks. */
  readonly uid: number;
  /** The shim can make a filter of system calls. */
  readonly filters: boolean;
}

/**
 * Tasks in namespaces of their own: no capabilities, no other processes, no files of the host but its programs, read-only,
 * and no system call that leads out. Needs no root; under an agent that is root the sandbox is made by the task's own user,
 * so that whoever got out of it would be a stranger. The end of a task by a signal shows as code 128 and the signal's number.
 *
 * @returns why tasks cannot be run so, for people
 */
export async function openSandbox(parts: SandboxParts): Promise<TaskDriver | string> {
  const { commands, isolation, uid } = parts;
  const covers = await coversOf(commands);
  const probe = [
    ...['bwrap', ...isolationFlags('none'), '--ro-bind', '/', '/', '--proc', '/proc', ...covers],
    ...['env', `--default-signal=${STOPS}`, 'true'],
  ];
  const asUser = ['setpriv', `--reuid=${String(uid)}`, `--regid=${String(uid)}`, '--clear-groups', '--'];
  const { code, err } = await commands.run([...(isolation.user ? asUser : []), ...probe], PROBE_MS);
  if (code !== 0)
    return `bubblewrap (bwrap) is not installed, or the kernel does not let it work: ${err.trim().slice(0, REASON_CHARS_MAX)}`;
  return {
    attributes: { 'driver.sandbox': 'bubblewrap' },
    prepare: async (order, launch) => {
      const ids = idsFor(order, isolation);
      const secrets = await secretsFor(parts.secrets, order, ids?.first ?? order.uid);
      const volumes = await volumesFor(parts.volumes, order, ids?.first ?? order.uid);
      return sandboxed(parts, order, launch, { covers, secrets, volumes, ids });
    },
    cleanup: async () => true,
    scan: async () => [],
  };
}
const REASON_CHARS_MAX = 200;

/** What this machine's /proc has of what is to be covered: a cover needs something below it. */
async function coversOf(commands: Commands): Promise<readonly string[]> {
  const inProc = MASKED_PATHS.filter((path) => path.startsWith('/proc/'));
  const tell = 'for path; do [ -d "$path" ] && echo "d $path"; [ -f "$path" ] && echo "f $path"; done; true';
  const { out } = await commands.run(['sh', '-c', tell, 'sh', ...inProc, ...READ_ONLY_PATHS], PROBE_MS);
  const found = out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({ isFolder: line.startsWith('d '), path: line.slice(2) }));
  return found.flatMap(({ isFolder, path }) => {
    if (READ_ONLY_PATHS.includes(path)) return ['--ro-bind', path, path];
    return isFolder ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path];
  });
}

interface SandboxPlaces {
  readonly covers: readonly string[];
  /** Absolute path of its secrets' folder; null: it has none. */
  readonly secrets: string | null;
  readonly volumes: readonly ShownVolume[];
  /** null: it has one user. */
  readonly ids: IdRange | null;
}

/** A sandbox is nothing but the command that makes it, and ends with that. */
function sandboxed(
  parts: SandboxParts,
  order: AttemptOrder,
  launch: ShimLaunch,
  { covers, secrets, volumes, ids }: SandboxPlaces,
): ShimLaunch {
  const { task, allocation } = order;
  const network = task.network ?? 'none';
  const folder = parts.disk.absolute(`allocations/${allocation.id}`);
  const stranger =
    ids === null ? asStranger(launch, order, folder, parts.isolation) : asRoot(launch, ids, folder);
  const artifacts = artifactsOf(task, parts.files, stranger.apart === true ? `${folder}/artifacts` : null);
  const seenOf = ({ name, from }: ShownVolume): string =>
    stranger.apart === true ? `${folder}/volumes/${name}` : from;
  const show = [
    ...volumes.map((one) => ({ from: one.from, to: seenOf(one) })),
    ...artifacts.map(({ path, seen }) => ({ from: path, to: seen })),
    ...(secrets === null ? [] : [{ from: secrets, to: secrets }]),
  ];
  return {
    ...stranger,
    command: [
      ...['env', `--ignore-signal=${STOPS}`, 'bwrap'],
      ...(ids === null ? isolationFlags(network) : rootFlags(network)),
      ...(parts.filters ? ['--seccomp', String(CALLS_FD)] : []),
      ...SYSTEM_FOLDERS.flatMap((path) => ['--ro-bind-try', path, path]),
      ...ETC.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
      ...(network === 'host' ? ['--ro-bind-try', '/etc/resolv.conf', '/etc/resolv.conf'] : []),
      ...['--proc', '/proc', ...covers, '--dev', '/dev', '--tmpfs', '/tmp'],
      ...(order.devices ?? []).flatMap(({ path }) => ['--dev-bind', path, path]),
      ...artifacts.flatMap(({ seen, name }) => ['--ro-bind', seen, `${ARTIFACTS}/${name}`]),
      ...(secrets === null ? [] : ['--ro-bind', secrets, SECRETS]),
      ...volumes.flatMap((one) => [one.access === 'ro' ? '--ro-bind' : '--bind', seenOf(one), one.at]),
      ...['--bind', `${folder}/work`, WORK, '--remount-ro', '/', '--chdir', WORK],
      ...['--', 'env', `--default-signal=${STOPS}`],
      ...(ids === null ? [] : ['setpriv', `--bounding-set=${BOUND}`, '--']),
      ...launch.command,
    ],
    env: {
      ...{ ...launch.env, ...artifactEnv(task, ARTIFACTS), HOME: WORK },
      ...(secrets === null ? {} : { [SECRETS_ENV]: SECRETS }),
      ...volumeEnv(volumes, ({ at }) => at),
    },
    inner: true,
    inside: { cwd: WORK },
    ...(parts.filters ? { deny: DENIED_CALLS, denyFd: CALLS_FD, noNewPrivileges: true } : {}),
    ...(stranger.apart === true && show.length > 0 ? { show } : {}),
  };
}

/**
 * The bytes in the cache are everybody's, so they are bound read-only.
 * @param folder where the sandbox's maker sees them, who does not see the cache; null: it does
 */
function artifactsOf(
  task: Task,
  files: TaskFiles | null,
  folder: string | null,
): readonly { readonly name: string; readonly path: string; readonly seen: string }[] {
  return Object.entries(task.artifacts ?? {}).map(([name, artifact]) => {
    if (files === null) throw new PrepareError('this host brings no artifacts');
    const path = files.pathOf(artifact);
    return { name, path, seen: folder === null ? path : `${folder}/${name}` };
  });
}

/** Bubblewrap keeps the others from its command; so are they from commands inside. */
const BOUND = [
  '-all',
  ...ROOT_CAPABILITIES.map((name) => `+${name.slice('CAP_'.length).toLowerCase()}`),
].join(',');

/** In a user namespace that the shim has made, of which it is root. */
function rootFlags(network: 'host' | 'none'): readonly string[] {
  return [
    ...['--unshare-ipc', '--unshare-pid', '--unshare-uts', '--unshare-cgroup-try'],
    ...(network === 'none' ? ['--unshare-net'] : []),
    ...['--die-with-parent', '--cap-drop', 'ALL'],
    ...ROOT_CAPABILITIES.flatMap((name) => ['--cap-add', name]),
  ];
}

function isolationFlags(network: 'host' | 'none'): readonly string[] {
  const share = network === 'host' ? ['--share-net'] : [];
  return ['--unshare-all', ...share, '--die-with-parent', '--cap-drop', 'ALL'];
}
