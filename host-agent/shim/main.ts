import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { findMarked, identityOfSelf, parseStat, readBootId } from '../../src/adapters/process/proc-files.ts';
import type { ExitRecord, ShimLaunch } from '../../src/wire/shim-files.ts';
import { claimFile, decodeLaunch, exitFile, startedFile } from '../../src/wire/shim-files.ts';
import { serveCtl } from './ctl-server.ts';
import { Segments } from './segments.ts';

/**
 * The shim where there is no C compiler: same folder, same files, same socket as `native/shim.c`, at a hundred times the
 * memory. Two things it cannot do: it is no subreaper, so what leaves the task's group is found by its environment; and
 * Node buries the main process at once, so its group is killed a moment after its number could have been given away.
 *
 *   node main.js --run STATE ATTEMPT
 */
const DRAIN_MS = 300;
const KILL_ROUNDS_MAX = 200;

type End = Pick<ExitRecord, 'code' | 'signal' | 'execErrno'>;

async function run(state: string, attempt: string): Promise<void> {
  process.chdir(join(state, 'attempts', attempt));
  process.umask(0o077);
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGPIPE'] as const)
    process.on(signal, () => undefined);
  if (!publish('claim', claimFile.encode(identityOfSelf(readBootId())), false)) return;
  const launch = readLaunch();
  const bounds = { bytesMax: launch?.segmentBytes ?? 1, filesMax: launch?.segmentsMax ?? 1 };
  const out = new Segments('stdout', launch?.outBase ?? 0, bounds);
  const err = new Segments('stderr', launch?.errBase ?? 0, bounds);
  const finish = (end: End, cutShort: boolean, left: number): void => {
    out.close();
    err.close();
    const ends = { out: out.end, err: err.end, dropped: out.dropped + err.dropped };
    publish('exit', exitFile.encode({ ...end, ...ends, cutShort, left, atMs: Date.now(), by: 'shim' }), true);
    notify(attempt);
    process.exit(0);
  };
  if (launch === null) return finish({ execErrno: constants.errno.EINVAL }, false, 0);
  const [command = '', ...args] = launch.command;
  const child = spawn(command, args, {
    cwd: launch.cwd,
    env: launch.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.on('data', (chunk: Buffer) => out.keep(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.keep(chunk));
  child.once('error', (error: NodeJS.ErrnoException) =>
    finish({ execErrno: Math.abs(error.errno ?? constants.errno.EIO) }, false, 0),
  );
  child.once('spawn', () => began(child, attempt));
  child.once('exit', (code, signal) => {
    void ended(child, attempt).then(({ cutShort, left }) =>
      finish(signal === null ? { code: code ?? 0 } : { signal }, cutShort, left),
    );
  });
}

function began(child: ChildProcess, attempt: string): void {
  const pid = child.pid ?? 0;
  serveCtl(pid, (signal) => send(pid, signal));
  publish('started', startedFile.encode({ pid, start: startOf(pid), atMs: Date.now() }), false);
  notify(attempt);
}

/** Waits for the last output, then ends all that the task left. */
async function ended(child: ChildProcess, attempt: string): Promise<{ cutShort: boolean; left: number }> {
  const closed = new Promise<boolean>((resolve) => child.once('close', () => resolve(true)));
  const drained = await Promise.race([
    closed,
    new Promise<boolean>((resolve) => setTimeout(resolve, DRAIN_MS, false)),
  ]);
  send(child.pid ?? 0, constants.signals.SIGKILL);
  let left: readonly number[] = [];
  for (let round = 0; round < KILL_ROUNDS_MAX; round++) {
    left = await findMarked([`MOORAGE_ATTEMPT=${attempt}`]);
    if (left.length === 0) break;
    for (const pid of left) sendTo(pid, constants.signals.SIGKILL);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  if (!drained && left.length === 0) await closed;
  return { cutShort: !drained, left: left.length };
}

function send(pid: number, signal: number): number {
  return sendTo(-pid, signal);
}

function sendTo(pid: number, signal: number): number {
  try {
    process.kill(pid, signal);
    return 0;
  } catch (error) {
    return Math.abs((error as NodeJS.ErrnoException).errno ?? constants.errno.EIO);
  }
}

function startOf(pid: number): number {
  try {
    return parseStat(readFileSync(`/proc/${String(pid)}/stat`, 'utf8')).start;
  } catch {
    return 0;
  }
}

function readLaunch(): ShimLaunch | null {
  try {
    return decodeLaunch(readFileSync('launch', 'utf8'));
  } catch {
    return null;
  }
}

/** The first writer of a name wins. @returns false when somebody was earlier */
function publish(name: string, text: string, durable: boolean): boolean {
  const temporary = `.${name}.${String(process.pid)}`;
  const fd = openSync(temporary, 'w', 0o600);
  writeSync(fd, text);
  if (durable) fsyncSync(fd);
  closeSync(fd);
  try {
    linkSync(temporary, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    unlinkSync(temporary);
  }
  if (durable) syncFolder();
  return true;
}

function syncFolder(): void {
  const fd = openSync('.', 'r');
  fsyncSync(fd);
  closeSync(fd);
}

/** Tells whoever watches `events`; the name comes and goes. */
function notify(attempt: string): void {
  const path = join('..', '..', 'events', attempt);
  closeSync(openSync(path, 'w', 0o600));
  rmSync(path, { force: true });
}

const [flag, state, attempt] = process.argv.slice(2);
if (
  flag !== '--run' ||
  state === undefined ||
  attempt === undefined ||
  !/^[a-z0-9][a-z0-9.-]*$/.test(attempt)
)
  process.exit(2);
await run(state, attempt);
