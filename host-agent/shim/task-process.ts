import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { accessSync, constants as FILE, readlinkSync } from 'node:fs';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import type { ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';
import { NAMESPACES } from '../../src/wire/host-files/shim-launch.ts';
import { startOf } from './facts.ts';

/** What this shim cannot do, and so refuses to begin. @returns null when it can do all that was ordered */
export function refusal(launch: ShimLaunch): string | null {
  const wanted: readonly (readonly [string, boolean])[] = [
    ['a terminal', launch.pty !== undefined],
    ['rlimits', (launch.rlimits ?? []).length > 0],
    ['namespaces', (launch.namespaces ?? []).length > 0 || entersNamespaces(launch)],
    ['adoption of a container', launch.adopt !== undefined],
    ['a niceness', launch.nice !== undefined],
    ['denied system calls', (launch.deny ?? []).length > 0],
    ['no new privileges', launch.noNewPrivileges === true],
    ['a folder of its user’s', launch.own !== undefined],
    ['a range of ids', launch.ids !== undefined],
    ['an end to capabilities', launch.capabilities !== undefined],
    ['supplementary groups', (launch.user?.groups ?? []).length > 0],
    ['a user within groups', launch.user !== undefined && needsWrapper(launch)],
  ];
  const missing = wanted.find(([, needed]) => needed);
  return missing === undefined ? null : `this shim cannot give ${missing[0]}`;
}

function entersNamespaces(launch: ShimLaunch): boolean {
  const { join } = launch;
  if (join === undefined) return false;
  if (startOf(join.pid) !== join.start) return true;
  const of = (pid: string, kind: string): string => readlinkSync(`/proc/${pid}/ns/${kind}`);
  return NAMESPACES.some((kind) => of(String(join.pid), kind) !== of('self', kind));
}

function needsWrapper(launch: ShimLaunch): boolean {
  return (launch.cgroupProcs ?? []).length > 0 || launch.oomScoreAdj !== undefined;
}

/**
 * Node has no step between fork and exec, so a shell takes it: joins the groups, sets the score, becomes the command. Its
 * descriptor 3 says what failed. What `commandError` did not foresee ends with 126 or 127, as of any shell.
 */
const WRAPPER = `
score=$1; count=$2; shift 2
[ "$score" = - ] || echo "$score" > /proc/self/oom_score_adj || { echo oom_score_adj >&3; exit 1; }
while [ "$count" -gt 0 ]; do
  echo 0 > "$1" || { echo "cgroup $1" >&3; exit 1; }
  shift; count=$((count - 1))
done
exec 3>&-
exec "$@"`;

export function spawnTask(launch: ShimLaunch): ChildProcess {
  const { user } = launch;
  const [command = '', ...args] = needsWrapper(launch) ? wrapped(launch) : launch.command;
  return spawn(command, args, {
    cwd: launch.cwd,
    env: launch.env,
    detached: true,
    ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
    // The fourth is the wrapper's; a command would hold it open for as long as it runs.
    stdio: [
      launch.stdin === 'open' ? 'pipe' : 'ignore',
      'pipe',
      'pipe',
      ...(needsWrapper(launch) ? ['pipe' as const] : []),
    ],
  });
}

function wrapped(launch: ShimLaunch): readonly string[] {
  const groups = launch.cgroupProcs ?? [];
  const score = launch.oomScoreAdj === undefined ? '-' : String(launch.oomScoreAdj);
  return ['/bin/sh', '-c', WRAPPER, 'sh', score, String(groups.length), ...groups, ...launch.command];
}

/**
 * Why the command cannot be run, as far as can be seen before: behind the wrapper's shell nobody could tell it from a
 * command that ended so.
 * @returns the system's error number; 0 when nothing speaks against it
 */
export function commandError(launch: ShimLaunch): number {
  const [command = ''] = launch.command;
  if (!needsWrapper(launch)) return 0;
  const folders = command.includes('/') ? [launch.cwd] : (launch.env['PATH'] ?? '').split(':');
  const errors = folders.map((folder) => accessError(resolve(folder, command)));
  if (errors.includes(0)) return 0;
  return errors.includes(constants.errno.EACCES) ? constants.errno.EACCES : constants.errno.ENOENT;
}

function accessError(path: string): number {
  try {
    accessSync(path, FILE.X_OK);
    return 0;
  } catch (error) {
    return Math.abs((error as NodeJS.ErrnoException).errno ?? constants.errno.ENOENT);
  }
}

/** Resolves with what the wrapper could not do; null when the command runs. */
export function failedStep(child: ChildProcess): Promise<string | null> {
  const report = child.stdio[3] as Readable | undefined;
  if (report === undefined) return Promise.resolve(null);
  let said = '';
  report.on('data', (chunk: Buffer) => (said += chunk.toString()));
  return new Promise((done) => report.once('close', () => done(said === '' ? null : said.trim())));
}

export function sendTo(pid: number, signal: number): number {
  try {
    process.kill(pid, signal);
    return 0;
  } catch (error) {
    return Math.abs((error as NodeJS.ErrnoException).errno ?? constants.errno.EIO);
  }
}
