import type { Exit } from '../../src/core/cell/allocation.ts';
import type { ProcessIdentity } from '../../src/ports/process.ts';
import type { ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';
import {
  ATTEMPT_FILES,
  claimFile,
  decodeLaunch,
  exitFile,
  startedFile,
} from '../../src/wire/host-files/attempt-files.ts';
import type { Platform } from './platform.ts';
import type { Place } from './task-env.ts';
import {
  gpusOf,
  ignoresSignals,
  lingerMsOf,
  MISSING_COMMAND,
  outputEveryMsOf,
  placesOf,
  runMsOf,
} from './task-env.ts';
import { TaskOutput } from './task-output.ts';

/** One attempt with its shim and, once it runs, its task's process. */
interface Running {
  readonly attempt: string;
  readonly shim: ProcessIdentity;
  readonly launch: ShimLaunch;
  readonly places: readonly Place[];
  process: ProcessIdentity | null;
  /** false: the shim died; the task runs on without a parent. */
  shimAlive: boolean;
  readonly output: TaskOutput;
  cancelOutput: () => void;
  cancelEnd: () => void;
  /** Cancels the stop that the shim makes when its agent is out of contact. */
  cancelCutOff: () => void;
  /** The shim has begun to stop the task by itself. */
  cutOff: boolean;
}

const ENOENT = 2;
const SPAWN_MIN_MS = 0.5;
const SPAWN_SPREAD_MS = 4;
/** From a signal to the end that it makes. */
const REACTION_MIN_MS = 0.2;
const REACTION_SPREAD_MS = 20;

/** The processes of a machine between two boots: shims and tasks that only take time, as `task-env.ts` says. */
export class TaskTable {
  readonly bootId: string;
  readonly #machine: Platform;
  readonly #running = new Map<string, Running>();
  readonly #listeners = new Set<(attempt: string) => void>();
  /** Ports and addresses bound by what an ended task left behind. */
  readonly #lingering = new Map<string, () => void>();
  #pids = 100;
  #ticks = 0;

  constructor(machine: Platform, bootId: string) {
    this.#machine = machine;
    this.bootId = bootId;
  }

  get running(): readonly string[] {
    return [...this.#running.keys()];
  }

  identity(): ProcessIdentity {
    this.#pids += 1;
    this.#ticks += 1;
    return { boot: this.bootId, pid: this.#pids, start: this.#ticks };
  }

  onEvent(listener: (attempt: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  isAlive({ boot, pid, start }: ProcessIdentity): boolean {
    if (boot !== this.bootId) return false;
    for (const { shim, process, shimAlive } of this.#running.values()) {
      if (shimAlive && shim.pid === pid && shim.start === start) return true;
      if (process?.pid === pid && process.start === start) return true;
    }
    return false;
  }

  hasShim(attempt: string): boolean {
    return this.#running.get(attempt)?.shimAlive === true;
  }

  spawnDelayMs(): number {
    return (
      (SPAWN_MIN_MS + this.#machine.random.fraction() * SPAWN_SPREAD_MS) * this.#machine.starts.now.slowness
    );
  }

  /** A shim begins: takes the claim, or ends without having done anything. */
  startShim(attempt: string): void {
    const { content, host, history, agenda, life } = this.#machine;
    const folder = `attempts/${attempt}`;
    const text = content.read(`${folder}/${ATTEMPT_FILES.launch}`);
    if (text === null || content.has(`${folder}/${ATTEMPT_FILES.claim}`)) return;
    const launch = decodeLaunch(text);
    const shim = this.identity();
    content.write(`${folder}/${ATTEMPT_FILES.claim}`, claimFile.encode({ ...shim }), false);
    history.add('hosts', { kind: 'claimed', host, attempt, shim });
    const running: Running = {
      ...{ attempt, shim, launch, places: placesOf(launch), process: null, shimAlive: true },
      ...{ cancelEnd: () => undefined, cancelCutOff: () => undefined, cutOff: false },
      ...{ output: new TaskOutput(this.#machine, attempt, launch), cancelOutput: () => undefined },
    };
    this.#running.set(attempt, running);
    agenda.after(this.spawnDelayMs(), life, 'exec', () => this.#exec(running), attempt);
  }

  /** @returns false: there is no shim to ask */
  signal(attempt: string, signal: string): boolean {
    const running = this.#running.get(attempt);
    if (running === undefined || !running.shimAlive) return false;
    if (running.process === null) {
      // Between claim and start: the shim notes it and starts nothing.
      this.#end(running, { signal });
      return true;
    }
    this.#signalled(running, running.process, signal);
    if (!ignoresSignals(running.launch) || signal === 'SIGKILL') this.#endSoon(running, { signal });
    return true;
  }

  /** The shim stops its task when it is not renewed again within this time. @returns false: there is no shim */
  renew(attempt: string, forMs: number): boolean {
    const running = this.#running.get(attempt);
    if (running === undefined || !running.shimAlive) return false;
    this.#renewCutOff(running, forMs);
    return true;
  }

  /** Everything that the task started dies at once. */
  killTree(attempt: string): boolean {
    return this.signal(attempt, 'SIGKILL');
  }

  /** For an attempt without a shim. @returns how many processes there were */
  killLeftovers(attempt: string): number {
    const running = this.#running.get(attempt);
    if (running === undefined || running.shimAlive) return 0;
    const { process } = running;
    if (process !== null) {
      this.#signalled(running, process, 'SIGKILL');
      this.#gone(running, process, { lost: 'no parent' });
    }
    running.cancelOutput();
    this.#running.delete(attempt);
    return process === null ? 0 : 1;
  }

  /** The shim dies; its task runs on, and its exit will not be written. */
  killShim(attempt: string): void {
    const running = this.#running.get(attempt);
    if (running === undefined || !running.shimAlive) return;
    running.shimAlive = false;
    const { host, history } = this.#machine;
    history.add('hosts', { kind: 'shim-gone', host, attempt });
    if (running.process === null) this.#running.delete(attempt);
    this.#notify(attempt);
  }

  portsInUse(ports: readonly number[]): readonly number[] {
    const bound = this.#bound();
    return ports.filter((port) => bound.has(String(port)));
  }

  addressesInUse(addresses: readonly string[]): readonly string[] {
    const bound = this.#bound();
    return addresses.filter((address) => bound.has(address));
  }

  /** Names of ports and addresses: no port is written as an address is. */
  #bound(): ReadonlySet<string> {
    const bound = new Set(this.#lingering.keys());
    for (const running of this.#running.values())
      if (running.process !== null) for (const { name } of running.places) bound.add(name);
    return bound;
  }

  #recordPlace(kind: 'bound' | 'freed', place: Place, attempt: string): void {
    const { host, history } = this.#machine;
    history.add('hosts', { kind, host, what: place.what, name: place.name, attempt });
  }

  #exec(running: Running): void {
    if (this.#running.get(running.attempt) !== running || !running.shimAlive) return;
    const { content, host, history, time, random, starts } = this.#machine;
    const { attempt, launch } = running;
    const { failing } = starts.now;
    const fails = failing > 0 && random.fraction() < failing;
    if (fails || launch.command[0] === MISSING_COMMAND) return this.#end(running, { execErrno: ENOENT });
    const process = this.identity();
    running.process = process;
    history.add('hosts', { kind: 'started', host, attempt, process, ...gpusOf(launch) });
    for (const place of running.places) {
      this.#lingering.get(place.name)?.();
      this.#recordPlace('bound', place, attempt);
    }
    const started = { pid: process.pid, start: process.start, atMs: Math.round(time.nowMs()) };
    content.write(`attempts/${attempt}/${ATTEMPT_FILES.started}`, startedFile.encode(started), false);
    this.#notify(attempt);
    if (launch.stopAfterDisconnectMs !== undefined) this.#renewCutOff(running, launch.stopAfterDisconnectMs);
    this.#writeSoon(running);
    const runMs = runMsOf(launch);
    if (runMs > 0) this.#endAfter(running, runMs, { code: Number(launch.env['SIM_EXIT_CODE'] ?? 0) });
  }

  /** The next line of its output; without a shim it is lost. */
  #writeSoon(running: Running): void {
    const everyMs = outputEveryMsOf(running.launch.env);
    if (everyMs === 0) return;
    const { agenda, life, random } = this.#machine;
    const write = (): void => {
      if (!running.shimAlive) return;
      running.output.writeLine();
      this.#writeSoon(running);
    };
    running.cancelOutput = agenda.after(
      everyMs * 2 * random.fraction(),
      life,
      'output',
      write,
      running.attempt,
    );
  }

  /** A stop that has begun is not taken back. */
  #renewCutOff(running: Running, forMs: number): void {
    if (running.cutOff) return;
    const { agenda, life, time } = this.#machine;
    running.cancelCutOff();
    const cutOff = (): void => this.#cutOff(running);
    running.cancelCutOff = agenda.after(time.trueDelayMs(forMs), life, 'cut off', cutOff, running.attempt);
  }

  /** As the agent would: the signal, and after the grace SIGKILL. */
  #cutOff(running: Running): void {
    const { attempt, launch, process } = running;
    if (this.#running.get(attempt) !== running || !running.shimAlive || process === null) return;
    const { agenda, life } = this.#machine;
    const { signal, graceMs } = launch.stop ?? { signal: 'SIGTERM', graceMs: 0 };
    running.cutOff = true;
    this.#signalled(running, process, signal);
    if (!ignoresSignals(launch)) return this.#endSoon(running, { signal });
    const kill = (): void => {
      if (this.#running.get(attempt) !== running || !running.shimAlive) return;
      this.#signalled(running, process, 'SIGKILL');
      this.#endSoon(running, { signal: 'SIGKILL' });
    };
    agenda.after(graceMs, life, 'cut off', kill, attempt);
  }

  #endSoon(running: Running, exit: Exit): void {
    const reactionMs = REACTION_MIN_MS + this.#machine.random.fraction() * REACTION_SPREAD_MS;
    this.#endAfter(running, reactionMs, exit);
  }

  #endAfter(running: Running, delayMs: number, exit: Exit): void {
    running.cancelEnd();
    const { agenda, life } = this.#machine;
    running.cancelEnd = agenda.after(delayMs, life, 'exit', () => this.#end(running, exit), running.attempt);
  }

  /** The task ends; its shim, if there is one, writes how. */
  #end(running: Running, exit: Exit & { readonly execErrno?: number }): void {
    const { attempt, launch, process } = running;
    if (this.#running.get(attempt) !== running) return;
    this.#running.delete(attempt);
    running.cancelEnd();
    running.cancelOutput();
    running.cancelCutOff();
    // Its last line, just before the exit is written.
    if (process !== null && running.shimAlive && outputEveryMsOf(launch.env) > 0) running.output.writeLine();
    if (process !== null) this.#gone(running, process, running.shimAlive ? exit : { lost: 'no parent' });
    if (running.shimAlive) {
      const { content, time } = this.#machine;
      const why = running.cutOff ? { stoppedBy: 'disconnect' as const } : {};
      const record = { ...exit, ...why, out: running.output.end, err: launch.errBase };
      const text = exitFile.encode({ ...record, atMs: Math.round(time.nowMs()), by: 'shim' });
      const path = `attempts/${attempt}/${ATTEMPT_FILES.exit}`;
      if (!content.has(path)) content.write(path, text, true);
    }
    this.#notify(attempt);
  }

  #gone(running: Running, process: ProcessIdentity, exit: Exit): void {
    const { host, history, agenda, life } = this.#machine;
    const { attempt, launch } = running;
    history.add('hosts', { kind: 'ended', host, attempt, process, exit });
    const lingerMs = lingerMsOf(launch.env);
    for (const place of running.places) {
      const free = (): void => {
        stop();
        this.#lingering.delete(place.name);
        this.#recordPlace('freed', place, attempt);
      };
      let stop = (): void => undefined;
      if (lingerMs === 0) {
        free();
        continue;
      }
      stop = agenda.after(lingerMs, life, 'place free', free, attempt);
      this.#lingering.set(place.name, free);
    }
  }

  #signalled(running: Running, process: ProcessIdentity, signal: string): void {
    const { host, history } = this.#machine;
    const { attempt } = running;
    history.add('hosts', { kind: 'signalled', host, by: attempt, process, owner: attempt, signal });
  }

  #notify(attempt: string): void {
    for (const listener of [...this.#listeners]) listener(attempt);
  }
}
