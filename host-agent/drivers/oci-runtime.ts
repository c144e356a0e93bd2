import type { Commands } from '../../src/ports/commands.ts';
import type { Disk } from '../../src/ports/disk.ts';
import { DiskError } from '../../src/ports/disk.ts';
import type { Container } from './oci-config.ts';
import { bind, configOf } from './oci-config.ts';
import { SYSTEM_FOLDERS } from './toolbox.ts';

export const OCI_RUNTIMES = ['crun', 'runc'] as const;
export type OciRuntimeName = (typeof OCI_RUNTIMES)[number];

/** What the runtime keeps of its containers, in the state folder. */
export const CONTAINERS = 'oci/containers';
const PROBE = 'oci/probe';
/** One start of `true`: tens of milliseconds, unless the machine is overrun. */
const PROBE_MS = 10_000;
const REASON_CHARS_MAX = 200;
const WHO = 'id -u && id -g && command -v bwrap';
const THERE = 'for path; do if [ -d "$path" ]; then echo "$path"; fi; done';

export interface OciMachine {
  readonly commands: Commands;
  readonly disk: Disk;
  /** Mount of the unified hierarchy beside those of v1; null where there is none of them. */
  readonly hybrid: string | null;
  /** Of control groups that the probe may make. */
  readonly probeGroup: string;
}

/** A runtime that was seen to run a container on this machine. */
export interface OciRuntime {
  readonly name: OciRuntimeName;
  /** Null as root. */
  readonly rootless: Container['rootless'];
  /** The command that has the runtime do it. */
  readonly order: (...args: readonly string[]) => readonly string[];
}

/**
 * The first of the runtimes that can run a container here: being installed is not enough for that.
 * @returns why there is none, for people
 */
export async function findRuntime(
  machine: OciMachine,
  names: readonly OciRuntimeName[],
): Promise<OciRuntime | string> {
  const { code, out } = await machine.commands.run(['sh', '-c', WHO], PROBE_MS);
  const [uid = NaN, gid = NaN] = out.split('\n').map(Number);
  if (code !== 0 || Number.isNaN(gid)) return 'bubblewrap (bwrap), which unpacks images, is not installed';
  const reasons: string[] = [];
  for (const name of names) {
    const rootless = uid === 0 ? null : { uid, gid };
    const runtime = { name, rootless, order: orderer(machine, name, rootless === null) };
    const why = await probe(machine, runtime);
    if (why === null) return runtime;
    reasons.push(`${name}: ${why}`);
  }
  return `no container runtime works here${uid === 0 ? '' : ' without root'} (${reasons.join('; ')})`;
}

function orderer({ disk, hybrid }: OciMachine, name: OciRuntimeName, isRoot: boolean): OciRuntime['order'] {
  return (...args) => {
    const root = ['--root', disk.absolute(CONTAINERS)];
    if (name === 'runc') return ['runc', ...root, ...args];
    const crun = ['crun', ...root, '--cgroup-manager=disabled', ...args];
    // It refuses a hybrid on sight, so it is not shown one. Only root can hide it.
    if (hybrid === null || !isRoot) return crun;
    return ['unshare', '-m', 'sh', '-c', 'umount "$0" && exec "$@"', hybrid, ...crun];
  };
}

/** Runs `true` in a container with all that those of tasks have. @returns why it did not work */
async function probe(machine: OciMachine, { name, rootless, order }: OciRuntime): Promise<string | null> {
  const { commands, disk } = machine;
  if ((await commands.run([name, '--version'], PROBE_MS)).code !== 0) return 'not installed';
  try {
    await layOut(machine, name, rootless);
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    // It cannot be tried now; containers of an earlier agent may be there, and need it.
    return null;
  }
  try {
    const { code, err } = await commands.run(
      order('run', '--bundle', disk.absolute(PROBE), 'probe'),
      PROBE_MS,
    );
    if (code === 0) return null;
    await commands.run(order('delete', '--force', 'probe'), PROBE_MS);
    return err.trim().split('\n').at(-1)?.slice(0, REASON_CHARS_MAX) ?? '';
  } finally {
    await disk.remove(PROBE);
  }
}

/** A bundle that has the host's own programs. */
async function layOut(
  { commands, disk, probeGroup }: OciMachine,
  name: OciRuntimeName,
  rootless: OciRuntime['rootless'],
): Promise<void> {
  await disk.remove(PROBE);
  await disk.makeFolder(CONTAINERS);
  const { out } = await commands.run(['sh', '-c', THERE, 'sh', ...SYSTEM_FOLDERS], PROBE_MS);
  const folders = out.split('\n').filter((path) => path !== '');
  for (const path of ['/proc', '/dev', '/sys', '/tmp', ...folders])
    await disk.makeFolder(`${PROBE}/rootfs${path}`);
  const config = configOf({
    args: ['true'],
    env: { PATH: '/usr/bin:/bin' },
    cwd: '/',
    user: { uid: 0, gid: 0 },
    root: disk.absolute(`${PROBE}/rootfs`),
    hostname: 'probe',
    network: 'none',
    mounts: folders.map((path) => bind(path, path, 'ro')),
    terminal: false,
    devices: [],
    cgroupsPath: name === 'runc' && rootless === null ? probeGroup : null,
    rootless,
    ids: null,
    asRoot: false,
  });
  await disk.publish(`${PROBE}/config.json`, JSON.stringify(config), { durable: false });
}
