import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { release, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findEtcd, NoEtcdError } from '../../src/adapters/etcd/server/find-etcd.ts';
import { linuxCgroups } from '../../src/adapters/processes/cgroups.ts';
import { openFilesLimit } from '../../src/adapters/system/open-files.ts';
import { HttpError } from '../../src/ports/http.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { DEFAULT_ADDRESS } from '../../src/connect/cell-address.ts';
import type { Context } from '../command/context.ts';

/** One thing that a machine needs. */
export interface Check {
  readonly name: string;
  /** `weak`: it works, and something is worse for it. */
  readonly state: 'ok' | 'weak' | 'missing';
  readonly detail: string;
  /** The next command or step; absent: nothing is to be done. */
  readonly remedy?: string;
}

/** As in package.json. */
const NODE_FLOOR = [20, 19] as const;
const KERNEL_FLOOR = [4, 18] as const;
/** An agent has a log, a socket and a watch for each task. */
const FILES_MIN = 4096;
/** Tickets live for 30 s, and a host refuses one that is not yet valid. */
const SKEW_MAX_MS = 1_000;
const ASK_MS = 2_000;
const PROBE_MS = 10_000;
/** The first of ids that nobody has, and how many. */
const TRIED_IDS = ['4294836224', '65536'];

/** In the order in which a newcomer needs them. */
export async function machineChecks(context: Context): Promise<readonly Check[]> {
  const monitor = await askMonitor(context);
  return [
    nodeCheck(process.versions.node),
    kernelCheck(process.platform, release()),
    await etcdCheck(context, monitor !== null),
    await portCheck(monitor),
    clockCheck(monitor, existsSync('/run/systemd/timesync/synchronized')),
    rightsCheck(process.getuid?.() ?? -1, openFilesLimit()),
    await cgroupCheck(),
    shimCheck(),
    await rootCheck(),
    await sandboxCheck(),
    ociCheck(context.terminal.env.PATH ?? ''),
  ];
}

export function nodeCheck(version: string): Check {
  const isNew = isAtLeast(version, NODE_FLOOR);
  const check = { name: 'node', detail: version };
  if (isNew) return { ...check, state: 'ok' };
  const remedy = `install Node ${NODE_FLOOR.join('.')} or later (nodejs.org)`;
  return { ...check, state: 'missing', remedy };
}

export function kernelCheck(platform: string, version: string): Check {
  const check = { name: 'kernel', detail: `${platform} ${version}` };
  if (platform !== 'linux')
    return { ...check, state: 'missing', remedy: 'roles run on Linux; here only commands against a cell do' };
  if (isAtLeast(version, KERNEL_FLOOR)) return { ...check, state: 'ok' };
  return { ...check, state: 'weak', remedy: `Linux ${KERNEL_FLOOR.join('.')} or later is what tests run on` };
}

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [haveMajor = 0, haveMinor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  return haveMajor > major || (haveMajor === major && haveMinor >= minor);
}

async function etcdCheck({ terminal: { env } }: Context, isCellThere: boolean): Promise<Check> {
  try {
    const { path, version } = await findEtcd({ env, sources: ['environment', 'path'] });
    return { name: 'etcd', state: 'ok', detail: `${version}, ${path}` };
  } catch (error) {
    if (!(error instanceof NoEtcdError)) throw error;
    return {
      name: 'etcd',
      // A machine of a cell whose store is elsewhere needs none.
      state: isCellThere ? 'weak' : 'missing',
      detail: isCellThere ? 'none here; the cell has its own' : 'none is found',
      remedy: 'apt-get install etcd-server   (or set MOORAGE_ETCD to its path)',
    };
  }
}

/** A monitor that answers, and how far its clock is ahead of ours; null: it does not say. */
interface Monitor {
  readonly url: string;
  readonly aheadMs: number | null;
}

/** @returns null when none answers */
async function askMonitor(context: Context): Promise<Monitor | null> {
  const api = await context.api();
  try {
    await api.version({ timeoutMs: ASK_MS });
  } catch (error) {
    if (error instanceof HttpError || error instanceof ProblemError) return null;
    throw error;
  }
  for (const url of api.addresses) {
    // Over TLS only with the credentials of the client, which gives no headers.
    const answer = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(ASK_MS) }).catch(() => null);
    const atMs = Date.parse(answer?.headers.get('date') ?? '');
    if (!Number.isNaN(atMs)) return { url, aheadMs: secondsAhead(atMs, Date.now()) };
  }
  return { url: api.addresses[0] ?? '', aheadMs: null };
}

/** A date has whole seconds: what lies within its second is no difference. */
export function secondsAhead(dateMs: number, nowMs: number): number {
  if (nowMs < dateMs) return dateMs - nowMs;
  return Math.min(0, dateMs + 999 - nowMs);
}

export function clockCheck(monitor: Monitor | null, isSynchronized: boolean): Check {
  const remedy = 'apt-get install chrony   (clocks that agree to a second; tickets live for 30 s)';
  if (monitor?.aheadMs != null) {
    const { aheadMs, url } = monitor;
    const isOff = Math.abs(aheadMs) > SKEW_MAX_MS;
    const detail = `${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs < 0 ? 'ahead of' : 'behind'} ${url}`;
    return isOff
      ? { name: 'clock', state: 'missing', detail, remedy }
      : { name: 'clock', state: 'ok', detail: `agrees with ${url}` };
  }
  if (isSynchronized) return { name: 'clock', state: 'ok', detail: 'synchronized' };
  return {
    name: 'clock',
    state: 'weak',
    detail: 'nothing is seen that sets it, and no monitor answers',
    remedy,
  };
}

async function portCheck(monitor: Monitor | null): Promise<Check> {
  const port = Number(new URL(DEFAULT_ADDRESS).port);
  if (monitor !== null) return { name: 'ports', state: 'ok', detail: `a monitor answers at ${monitor.url}` };
  const why = await listenFault(port);
  if (why === null) return { name: 'ports', state: 'ok', detail: `${String(port)} is free for a monitor` };
  return {
    name: 'ports',
    state: 'weak',
    detail: `${String(port)} cannot be listened on: ${why}`,
    remedy: 'moorage monitor --listen 127.0.0.1:PORT, and MOORAGE_ADDR with the same',
  };
}

function listenFault(port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(null)));
  });
}

export function rightsCheck(uid: number, filesMax: number): Check {
  const detail = `${uid === 0 ? 'root' : `user ${String(uid)}`}, ${String(filesMax)} open files`;
  if (filesMax < FILES_MIN)
    return { name: 'rights', state: 'weak', detail, remedy: 'ulimit -n 65536   (LimitNOFILE= in a unit)' };
  return { name: 'rights', state: 'ok', detail };
}

/** What an agent enforces limits with. */
const CONTROLLERS = ['memory', 'cpu', 'pids'];

async function cgroupCheck(): Promise<Check> {
  const mounts = await linuxCgroups().mounts();
  const usable = mounts.filter(({ path }) => isWritable(path));
  const have = new Set(usable.flatMap(({ controllers }) => controllers));
  const lacking = CONTROLLERS.filter((name) => !have.has(name));
  const versions = [...new Set(usable.map(({ version }) => `v${String(version)}`))].sort().join(' and ');
  if (lacking.length === 0) return { name: 'cgroups', state: 'ok', detail: versions };
  return {
    name: 'cgroups',
    state: 'weak',
    detail: `${mounts.length === 0 ? 'none' : `without ${lacking.join(', ')}`}: such limits are not enforced`,
    remedy: 'run agents as root, or with Delegate=yes in their unit (docs/limits.md)',
  };
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function compiledShim(): string | undefined {
  const native = ['../../host-agent/native/moorage-shim', '../../dist/host-agent/native/moorage-shim'];
  return native.map((one) => fileURLToPath(new URL(one, import.meta.url))).find((one) => existsSync(one));
}

/** Tries with the shim what a task with `user: root` is given. */
async function rootCheck(): Promise<Check> {
  const name = 'user: root';
  const shim = compiledShim();
  if (shim === undefined || process.getuid?.() !== 0)
    return {
      ...{ name, state: 'weak', detail: 'no task begins as root: that takes an agent that is root' },
      remedy: 'run agents as root, with the compiled shim (docs/task-drivers.md)',
    };
  const folder = mkdtempSync(join(tmpdir(), 'moorage-doctor-'));
  try {
    for (const part of ['image', 'layer']) mkdirSync(join(folder, part));
    const why = await new Promise<string | null>((resolve) => {
      execFile(shim, ['--try-ids', folder, ...TRIED_IDS], { timeout: PROBE_MS }, (error, out, err) =>
        resolve(error === null ? null : `${out}${err}`.trim()),
      );
    });
    if (why === null) return { name, state: 'ok', detail: 'user namespaces, mounts with other ids' };
    return {
      ...{ name, state: 'weak', detail: `no task begins as root: ${why}` },
      remedy:
        'Linux 5.19 or later, with user namespaces and overlayfs, and a disk whose mounts can have other ids',
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function shimCheck(): Check {
  const path = compiledShim();
  if (path !== undefined) return { name: 'shim', state: 'ok', detail: 'compiled' };
  return {
    name: 'shim',
    state: 'weak',
    detail: 'not compiled: a Node process for each task',
    remedy: 'apt-get install gcc libc6-dev, then: npm run build',
  };
}

async function sandboxCheck(): Promise<Check> {
  const probe = ['--unshare-all', '--die-with-parent', '--ro-bind', '/', '/', 'true'];
  const why = await new Promise<string | null>((resolve) => {
    execFile('bwrap', probe, { timeout: PROBE_MS }, (error, _out, err) =>
      resolve(error === null ? null : (error as NodeJS.ErrnoException).code === 'ENOENT' ? '' : err.trim()),
    );
  });
  if (why === null) return { name: 'sandbox', state: 'ok', detail: 'bubblewrap' };
  return {
    name: 'sandbox',
    state: 'weak',
    detail:
      why === '' ? 'bubblewrap is not installed' : `bubblewrap does not work: ${why.split('\n')[0] ?? ''}`,
    remedy:
      why === ''
        ? 'apt-get install bubblewrap   (for driver: sandbox, and to unpack images)'
        : 'allow user namespaces: sysctl kernel.unprivileged_userns_clone=1',
  };
}

function ociCheck(path: string): Check {
  const found = ['crun', 'runc'].find((name) =>
    path.split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, name))),
  );
  if (found !== undefined) return { name: 'oci', state: 'ok', detail: found };
  return {
    name: 'oci',
    state: 'weak',
    detail: 'neither crun nor runc',
    remedy: 'apt-get install crun   (for driver: oci)',
  };
}
