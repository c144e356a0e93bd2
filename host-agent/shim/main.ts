/**
 * The shim where there is no C compiler: the same folder, files and frames as the native one (`../native/`). It writes its
 * claim (`facts.ts` knows processes), starts the task (`task-process.ts`), answers frames on its socket (`ctl-server.ts`),
 * feeds the task's input (`stdin.ts`), writes its output (`segments.ts`), keeps the deadlines (`deadlines.ts`), and records
 * how the task ended. `signals.ts` names signals.
 */
import type { ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { killByMethods } from '../../src/adapters/processes/leftovers.ts';
import { identityOfSelf, isRunning, readBootId } from '../../src/adapters/processes/proc-files.ts';
import { signalNumber } from '../../src/adapters/processes/signals.ts';
import type { ExitRecord, ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';
import { STATE_MARK } from '../../src/wire/host-files/shim-launch.ts';
import {
  claimFile,
  decodeLaunch,
  exitFile,
  parseExecName,
  startedFile,
} from '../../src/wire/host-files/attempt-files.ts';
import { CtlServer } from './ctl-server.ts';
import { Deadlines } from './deadlines.ts';
import { isDeserted, notify, publish, startOf } from './facts.ts';
import { Segments } from './segments.ts';
import { Signals } from './signals.ts';
import { Stdin } from './stdin.ts';
import { commandError, failedStep, refusal, sendTo, spawnTask } from './task-process.ts';

/**
 * The shim where there is no C compiler: same folder, same files, same frames as the native one, at a hundred times the
 * memory. What it cannot do it refuses to begin (see `refusal`). It is no subreaper, so what leaves the task's group is
 * found by its environment; Node buries the main process at once, so its group is killed a moment after its number could
 * have been given away; and it does not know what its task used.
 *
 *   node main.js --run STATE ATTEMPT
 */
const DRAIN_MS = 300;
const KILL_ROUNDS_MAX = 200;
const RECORD_AGAIN_MS = 500;
const LOOK_AT_TASK_MS = 100;
const { EINVAL, EIO, ENOTSUP } = constants.errno;

type End = Pick<ExitRecord, 'code' | 'signal' | 'execErrno' | 'execStep'>;

class Shim {
  readonly #attempt: string;
  readonly #launch: ShimLaunch;
  readonly #out: Segments;
  readonly #err: Segments;
  readonly #oomBefore: number;
  #child: ChildProcess | null = null;
  #deadlines: Deadlines | null = null;
  #done = false;
  #frozen = false;

  constructor(attempt: string, launch: ShimLaunch) {
    this.#attempt = attempt;
    this.#launch = launch;
    const bounds = { bytesMax: launch.segmentBytes, filesMax: launch.segmentsMax };
    this.#out = new Segments('stdout', launch.outBase, bounds);
    this.#err = new Segments('stderr', launch.errBase, bounds);
    this.#oomBefore = this.#oomKills();
  }

  start(): void {
    const refused = refusal(this.#launch);
    if (refused !== null) return this.finish({ execErrno: ENOTSUP, execStep: refused });
    const missing = commandError(this.#launch);
    if (missing !== 0) return this.finish({ execErrno: missing, execStep: 'exec' });
    const child = spawnTask(this.#launch);
    this.#child = child;
    child.once('error', (error: NodeJS.ErrnoException) =>
      this.finish({ execErrno: Math.abs(error.errno ?? EIO), execStep: 'exec' }),
    );
    child.once('spawn', () => this.#serve(child));
    const failed = failedStep(child);
    child.once('exit', (code, signal) => {
      void this.#ended(child).then(async ({ cutShort, left }) => {
        const step = await failed;
        if (step !== null) this.finish({ execErrno: EIO, execStep: step });
        else this.finish(signal === null ? { code: code ?? 0 } : { signal }, cutShort, left);
      });
    });
  }

  finish(end: End, cutShort = false, left = 0): void {
    this.#out.close();
    this.#err.close();
    const holes = [...this.#out.holes, ...this.#err.holes];
    const stoppedBy = this.#deadlines?.stoppedBy;
    const record: ExitRecord = {
      ...end,
      ...{ out: this.#out.end, err: this.#err.end, dropped: this.#out.dropped + this.#err.dropped },
      ...{ cutShort, left, atMs: Date.now(), by: 'shim' },
      ...(holes.length > 0 ? { holes } : {}),
      ...(stoppedBy === undefined ? {} : { stoppedBy }),
      ...(this.#launch.oomFiles === undefined ? {} : { oomKills: this.#oomKills() - this.#oomBefore }),
    };
    this.#record(exitFile.encode(record));
  }

  /** A shim stays until its task's end is written, however long the disk takes nothing. */
  #record(text: string): void {
    try {
      publish('exit', text, true);
    } catch {
      if (isDeserted()) process.exit(0);
      setTimeout(() => this.#record(text), RECORD_AGAIN_MS);
      return;
    }
    notify(this.#attempt);
    process.exit(0);
  }

  #serve(child: ChildProcess): void {
    const pid = child.pid ?? 0;
    const signals = new Signals((signal) => this.#send(signal));
    const stdin = new Stdin(child.stdin);
    const deadlines = new Deadlines(
      this.#launch,
      (name) => void this.#send(signalNumber(name)),
      () => void this.#kill(),
    );
    this.#deadlines = deadlines;
    const server = new CtlServer({
      ...{ stdin, signals, kill: () => deadlines.killUntilDone(), freeze: (on) => this.#freeze(on) },
      renew: (forMs) => deadlines.renew(forMs),
      state: () => ({
        ...{ version: 2, pid: process.pid, job: pid, jobStart: startOf(pid), done: this.#done },
        ...{ stdinOpen: stdin.open, pty: false, frozen: this.#frozen, stopping: deadlines.stopping },
        ...{ stdinNext: stdin.next, signalSequence: signals.last, ...deadlines.left },
        ...{ out: this.#out.end, err: this.#err.end, rows: 0, columns: 0 },
      }),
    });
    this.#read(child, server);
    server.listen();
    publish('started', startedFile.encode({ pid, start: startOf(pid), atMs: Date.now() }), false);
    notify(this.#attempt);
    if (this.#launch.join !== undefined) this.#followTask(this.#launch.join, deadlines);
  }

  #read(child: ChildProcess, server: CtlServer): void {
    const streams = [
      [child.stdout, this.#out],
      [child.stderr, this.#err],
    ] as const;
    streams.forEach(([stream, segments], index) =>
      stream?.on('data', (chunk: Buffer) => {
        server.push(index === 0 ? 0 : 1, segments.end, chunk);
        segments.keep(chunk);
      }),
    );
  }

  /** A command inside a task ends with the task. */
  #followTask(task: { readonly pid: number; readonly start: number }, deadlines: Deadlines): void {
    const timer = setInterval(() => {
      void isRunning({ boot: '', ...task }).then((runs) => {
        if (runs || this.#done) return;
        clearInterval(timer);
        deadlines.killUntilDone();
      });
    }, LOOK_AT_TASK_MS);
  }

  /** Waits for the last output, then ends all that the task left. */
  async #ended(child: ChildProcess): Promise<{ cutShort: boolean; left: number }> {
    this.#done = true;
    this.#deadlines?.close();
    const closed = new Promise<boolean>((resolve) => child.once('close', () => resolve(true)));
    const late = new Promise<boolean>((resolve) => setTimeout(resolve, DRAIN_MS, false));
    const drained = await Promise.race([closed, late]);
    let left = 0;
    for (let round = 0; round < KILL_ROUNDS_MAX; round++) {
      left = await this.#kill();
      if (left === 0) break;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    if (!drained && left === 0) await closed;
    return { cutShort: !drained, left };
  }

  async #kill(): Promise<number> {
    this.#send(constants.signals.SIGKILL);
    return killByMethods(this.#launch.kill ?? [], this.#attempt, this.#launch.env[STATE_MARK] ?? null);
  }

  #send(signal: number): number {
    const pid = this.#child?.pid;
    if (pid === undefined) return constants.errno.ESRCH;
    const result = sendTo(-pid, signal);
    if (WAKING.includes(signal)) sendTo(-pid, constants.signals.SIGCONT);
    return result;
  }

  #freeze(on: boolean): number {
    const path = this.#launch.freezeFile;
    if (path === undefined) return ENOTSUP;
    const second = !path.endsWith('freezer.state');
    try {
      writeFileSync(path, second ? (on ? '1' : '0') : on ? 'FROZEN' : 'THAWED');
    } catch (error) {
      return Math.abs((error as NodeJS.ErrnoException).errno ?? EIO);
    }
    this.#frozen = on;
    return 0;
  }

  #oomKills(): number {
    return (this.#launch.oomFiles ?? []).reduce((sum, path) => sum + oomKillsIn(path), 0);
  }
}

/** Those that ask a task to end: one that is stopped must wake to hear them. */
const { SIGTERM, SIGINT, SIGHUP, SIGQUIT } = constants.signals;
const WAKING: readonly number[] = [SIGTERM, SIGINT, SIGHUP, SIGQUIT];

function oomKillsIn(path: string): number {
  try {
    return Number(/^oom_kill ([0-9]+)$/m.exec(readFileSync(path, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

const NO_LAUNCH: ShimLaunch = {
  ...{ cwd: '/', outBase: 0, errBase: 0, segmentBytes: 1, segmentsMax: 1, command: [], env: {} },
};

function run(state: string, attempt: string): void {
  process.chdir(join(state, 'attempts', attempt));
  process.umask(0o077);
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGPIPE'] as const)
    process.on(signal, () => undefined);
  if (!publish('claim', claimFile.encode(identityOfSelf(readBootId())), false)) return;
  let launch: ShimLaunch;
  try {
    launch = decodeLaunch(readFileSync('launch', 'utf8'));
  } catch (error) {
    new Shim(attempt, NO_LAUNCH).finish({ execErrno: EINVAL, execStep: String(error) });
    return;
  }
  new Shim(attempt, launch).start();
}

const [flag, state, attempt = ''] = process.argv.slice(2);
const known = /^[a-z0-9][a-z0-9.-]*$/.test(attempt) || parseExecName(attempt) !== null;
if (flag !== '--run' || state === undefined || !known) process.exit(2);
run(state, attempt);
