import type { Task } from '../../src/core/cell/job.ts';
import type { Commands } from '../../src/ports/commands.ts';
import type { Disk } from '../../src/ports/disk.ts';
import type { ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';
import type { AttemptOrder, TaskDriver } from './task-driver.ts';
import { PrepareError } from './task-driver.ts';
import type { TaskFiles } from './task-files.ts';
import { artifactEnv, ARTIFACTS } from './task-files.ts';
import { SYSTEM_FOLDERS } from './toolbox.ts';

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

/**
 * Tasks in namespaces of their own: no capabilities, no other processes, no files of the host but its programs, read-only.
 * Needs no root. The end of a task by a signal shows as code 128 and the signal's number.
 *
 * @returns null where there is no bubblewrap, or the kernel does not let it work
 */
export async function openSandbox(
  commands: Commands,
  disk: Disk,
  files: TaskFiles | null,
): Promise<TaskDriver | null> {
  const probe = [
    'bwrap',
    ...isolation('none'),
    '--ro-bind',
    '/',
    '/',
    'env',
    `--default-signal=${STOPS}`,
    'true',
  ];
  if ((await commands.run(probe, PROBE_MS)).code !== 0) return null;
  return {
    attributes: { 'driver.sandbox': 'bubblewrap' },
    prepare: async (order, launch) => sandboxed(order, launch, disk, files),
    cleanup: async () => true,
    scan: async () => [],
  };
}

/** A sandbox is nothing but the command that makes it, and ends with that. */
function sandboxed(
  { task, allocation }: AttemptOrder,
  launch: ShimLaunch,
  disk: Disk,
  files: TaskFiles | null,
): ShimLaunch {
  const network = task.network ?? 'none';
  return {
    ...launch,
    command: [
      ...['env', `--ignore-signal=${STOPS}`, 'bwrap', ...isolation(network)],
      ...SYSTEM_FOLDERS.flatMap((path) => ['--ro-bind-try', path, path]),
      ...ETC.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
      ...(network === 'host' ? ['--ro-bind-try', '/etc/resolv.conf', '/etc/resolv.conf'] : []),
      ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
      ...artifactBinds(task, files),
      ...['--bind', disk.absolute(`allocations/${allocation.id}/work`), WORK, '--chdir', WORK],
      ...['--', 'env', `--default-signal=${STOPS}`, ...launch.command],
    ],
    env: { ...launch.env, ...artifactEnv(task, ARTIFACTS), HOME: WORK },
    inner: true,
    inside: { cwd: WORK },
  };
}

/** Read-only: the bytes in the cache are everybody's. */
function artifactBinds(task: Task, files: TaskFiles | null): readonly string[] {
  return Object.entries(task.artifacts ?? {}).flatMap(([name, artifact]) => {
    if (files === null) throw new PrepareError('this host brings no artifacts');
    return ['--ro-bind', files.pathOf(artifact), `${ARTIFACTS}/${name}`];
  });
}

function isolation(network: 'host' | 'none'): readonly string[] {
  const share = network === 'host' ? ['--share-net'] : [];
  return ['--unshare-all', ...share, '--die-with-parent', '--cap-drop', 'ALL'];
}
