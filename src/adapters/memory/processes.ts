import type { Exit } from '../../core/cell/allocation.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Disk } from '../../ports/disk.ts';
import { DiskError } from '../../ports/disk.ts';
import type { ExecOrder } from '../../core/host/shim.ts';
import type { MarkedAttempt, ProcessIdentity, Processes, ShimLink, TailPiece } from '../../ports/process.ts';
import type { ClaimRecord, ExitRecord, StartedRecord } from '../../wire/host-files/attempt-files.ts';
import {
  ATTEMPT_FILES,
  claimFile,
  decodeLaunch,
  encodeLaunch,
  execName,
  exitFile,
  segmentName,
  startedFile,
} from '../../wire/host-files/attempt-files.ts';
import { execLaunch } from '../../wire/host-files/exec-launch.ts';
import { HollowLink } from './hollow-link.ts';
import type { HollowTask } from './hollow-task.ts';
import { deadlineOf, hollowTask, stateOf } from './hollow-task.ts';

export interface HollowProcessesOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly bootId?: string;
}

interface Hollow extends HollowTask {
  /** How it ended, while the disk does not take it. */
  ended: ExitRecord | null;
  readonly tails: Set<(piece: TailPiece) => void>;
  readonly gone: Promise<void>;
  /** Of `gone`. */
  go: () => void;
}

const ENOENT = 2;
const RECORD_AGAIN_MS = 250;
/** What a hollow task of this command does: nothing, since there is no such command. */
export const HOLLOW_MISSING_COMMAND = 'no-such-command';

/**
 * Shims and tasks that only take time, and keep the files that real ones keep: for hollow hosts, tests and simulations.
 *
 * A task's environment decides what it does: `HOLLOW_RUN_MS` is how long it runs (0 or absent: until it is stopped) and
 * `HOLLOW_EXIT_CODE` how it ends then. Any signal ends it, unless `HOLLOW_IGNORES_SIGNALS` is set. With `HOLLOW_ECHO` it
 * prints what it reads, and ends when its stdin does.
 */
export class HollowProcesses implements Processes {
  readonly self: ProcessIdentity;
  readonly bootId: string;
  readonly #disk: Disk;
  readonly #clock: Clock;
  readonly #running = new Map<string, Hollow>();
  readonly #listeners = new Set<(attempt: string) => void>();
  readonly #takenPorts = new Set<number>();
  readonly #takenAddresses = new Set<string>();
  #pids = 1;

  constructor(options: HollowProcessesOptions) {
    this.#disk = options.disk;
    this.#clock = options.clock;
    this.bootId = options.bootId ?? 'hollow';
    this.self = { boot: this.bootId, pid: 1, start: 0 };
  }

  get running(): readonly string[] {
    return [...this.#running.keys()];
  }

  signalsOf(attempt: string): readonly string[] {
    return this.#running.get(attempt)?.signals ?? [];
  }

  /** Another process listens at the port. */
  takePort(port: number): void {
    this.#takenPorts.add(port);
  }

  freePort(port: number): void {
    this.#takenPorts.delete(port);
  }

  /** Another process listens on the address. */
  takeAddress(address: string): void {
    this.#takenAddresses.add(address);
  }

  freeAddress(address: string): void {
    this.#takenAddresses.delete(address);
  }

  /** The task prints. */
  async print(attempt: string, text: string): Promise<void> {
    const task = this.#running.get(attempt);
    if (task === undefined) throw new Error(`${attempt} does not run`);
    await this.#disk.append(`${folder(attempt)}/${segmentName('stdout', task.launch.outBase)}`, text);
    const bytes = new TextEncoder().encode(text);
    const offset = task.out;
    task.out += bytes.length;
    for (const listener of [...task.tails]) listener({ stream: 'stdout', offset, bytes });
  }

  /** The task's process ends like this. */
  async end(attempt: string, exit: Exit & Pick<ExitRecord, 'execErrno' | 'stoppedBy'>): Promise<void> {
    const task = this.#running.get(attempt);
    if (task === undefined || task.ended !== null) return;
    task.cancel();
    const { out, err } = task;
    task.ended = { ...exit, out, err, atMs: Math.round(this.#clock.nowMs()), by: 'shim' };
    const inside = execName(attempt, '');
    for (const name of this.running) if (name.startsWith(inside)) await this.end(name, { signal: 'SIGKILL' });
    await this.#recordEnd(attempt, task, task.ended);
  }

  /** A shim stays until its task's end is written, however long the disk refuses writes. */
  async #recordEnd(attempt: string, task: Hollow, record: ExitRecord): Promise<void> {
    try {
      await this.#disk.publish(`${folder(attempt)}/${ATTEMPT_FILES.exit}`, exitFile.encode(record));
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      task.cancel = this.#clock.after(RECORD_AGAIN_MS, () => void this.#recordEnd(attempt, task, record));
      return;
    }
    this.#running.delete(attempt);
    task.go();
    this.#report(attempt);
  }

  /** The shim is gone, and the task's end is not recorded. */
  loseShim(attempt: string): void {
    const task = this.#running.get(attempt);
    task?.cancel();
    task?.go();
    this.#running.delete(attempt);
    this.#report(attempt);
  }

  isAlive(identity: ProcessIdentity): Promise<boolean> {
    if (identity.boot !== this.bootId) return Promise.resolve(false);
    if (identity.pid === this.self.pid) return Promise.resolve(true);
    return Promise.resolve([...this.#running.values()].some((task) => task.identity.pid === identity.pid));
  }

  async startShim(attempt: string): Promise<void> {
    const text = await this.#disk.read(`${folder(attempt)}/${ATTEMPT_FILES.launch}`);
    if (text === null) throw new Error(`${attempt} has no launch file`);
    const launch = decodeLaunch(text);
    this.#pids += 1;
    const identity = { boot: this.bootId, pid: this.#pids, start: this.#pids };
    const claim: ClaimRecord = { ...identity };
    const claimed = await this.#disk.publish(
      `${folder(attempt)}/${ATTEMPT_FILES.claim}`,
      claimFile.encode(claim),
    );
    if (claimed === 'exists') return;
    const task = hollow(hollowTask(identity, launch, this.#clock.monotonicMs()));
    this.#running.set(attempt, task);
    if (launch.command[0] === HOLLOW_MISSING_COMMAND) return this.end(attempt, { execErrno: ENOENT });
    const started: StartedRecord = {
      pid: identity.pid,
      start: identity.start,
      atMs: Math.round(this.#clock.nowMs()),
    };
    await this.#disk.publish(`${folder(attempt)}/${ATTEMPT_FILES.started}`, startedFile.encode(started));
    this.#arm(attempt, task);
    this.#report(attempt);
  }

  async exec(attempt: string, commandId: string, order: ExecOrder): Promise<string | null> {
    const name = execName(attempt, commandId);
    const path = `${folder(name)}/${ATTEMPT_FILES.launch}`;
    if ((await this.#disk.sizeOf(path)) === null) {
      const task = this.#running.get(attempt);
      if (task === undefined) return null;
      const started: StartedRecord = { ...task.identity, atMs: 0 };
      await this.#disk.makeFolder(folder(name));
      await this.#disk.publish(path, encodeLaunch(execLaunch(task.launch, started, commandId, order)));
    }
    await this.startShim(name);
    return name;
  }

  async open(attempt: string): Promise<ShimLink | null> {
    const task = this.#running.get(attempt);
    if (task === undefined) return null;
    const now = (): number => this.#clock.monotonicMs();
    return new HollowLink({
      task: () => (this.#running.get(attempt) === task && task.ended === null ? task : null),
      state: (one) => stateOf(one, now()),
      input: (one, bytes) => this.#input(attempt, one, bytes),
      endInput: (one) => this.#endInput(attempt, one),
      signal: (_task, signal, sequence) => this.#signal(attempt, task, signal, sequence),
      kill: () => this.killTree(attempt),
      renewed: (one, forMs) => {
        one.disconnectAtMs = forMs === null ? null : now() + forMs;
        this.#arm(attempt, task);
      },
      tail: (listener) => {
        task.tails.add(listener);
        return () => task.tails.delete(listener);
      },
      ended: task.gone,
    });
  }

  async signal(attempt: string, signal: string, sequence: number): Promise<boolean> {
    const task = this.#running.get(attempt);
    if (task === undefined) return false;
    await this.#signal(attempt, task, signal, sequence);
    return true;
  }

  answers(attempt: string): Promise<boolean> {
    return Promise.resolve(this.#running.has(attempt));
  }

  async killTree(attempt: string): Promise<boolean> {
    if (!this.#running.has(attempt)) return false;
    await this.end(attempt, { signal: 'SIGKILL' });
    return true;
  }

  killLeftovers(): Promise<number> {
    return Promise.resolve(0);
  }

  marked(): Promise<readonly MarkedAttempt[]> {
    return Promise.resolve([]);
  }

  killMarked(): Promise<number> {
    return Promise.resolve(0);
  }

  portsInUse(ports: readonly number[]): Promise<readonly number[]> {
    return Promise.resolve(ports.filter((port) => this.#takenPorts.has(port)));
  }

  addressesInUse(addresses: readonly string[]): Promise<readonly string[]> {
    return Promise.resolve(addresses.filter((address) => this.#takenAddresses.has(address)));
  }

  onEvent(listener: (attempt: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
  }

  async #signal(attempt: string, task: Hollow, signal: string, sequence: number): Promise<number> {
    const known = task.signalResults.get(sequence);
    if (known !== undefined) return known;
    if (sequence <= task.lastSequence) return 0;
    task.lastSequence = sequence;
    task.signalResults.set(sequence, 0);
    task.signals.push(signal);
    if (task.launch.env['HOLLOW_IGNORES_SIGNALS'] === undefined) await this.end(attempt, { signal });
    return 0;
  }

  async #input(attempt: string, task: HollowTask, bytes: Uint8Array): Promise<void> {
    if (task.launch.env['HOLLOW_ECHO'] !== undefined)
      await this.print(attempt, new TextDecoder().decode(bytes));
  }

  async #endInput(attempt: string, task: HollowTask): Promise<void> {
    if (task.launch.env['HOLLOW_ECHO'] !== undefined) await this.end(attempt, { code: exitCodeOf(task) });
  }

  /** Sets the timers of its natural end and of the nearer deadline. */
  #arm(attempt: string, task: Hollow): void {
    if (task.stopping) return;
    task.cancel();
    const nowMs = this.#clock.monotonicMs();
    const deadline = deadlineOf(task);
    const cancels: (() => void)[] = [];
    task.cancel = () => cancels.splice(0).forEach((cancel) => cancel());
    if (task.naturalEndAtMs !== null)
      cancels.push(
        this.#clock.after(Math.max(0, task.naturalEndAtMs - nowMs), () => {
          void this.end(attempt, { code: exitCodeOf(task) });
        }),
      );
    if (deadline !== null)
      cancels.push(
        this.#clock.after(Math.max(0, deadline.atMs - nowMs), () => {
          void this.#deadline(attempt, task, deadline.why);
        }),
      );
  }

  async #deadline(attempt: string, task: Hollow, stoppedBy: 'run-max' | 'disconnect'): Promise<void> {
    const { signal, graceMs } = task.launch.stop ?? { signal: 'SIGTERM', graceMs: 5_000 };
    task.cancel();
    task.stopping = true;
    task.signals.push(signal);
    const ignores = task.launch.env['HOLLOW_IGNORES_SIGNALS'] !== undefined;
    if (!ignores) return this.end(attempt, { signal, stoppedBy });
    const kill = (): void => void this.end(attempt, { signal: 'SIGKILL', stoppedBy });
    task.cancel = this.#clock.after(graceMs, kill);
  }

  #report(attempt: string): void {
    for (const listener of [...this.#listeners]) listener(attempt);
  }
}

function hollow(task: HollowTask): Hollow {
  let go: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => (go = resolve));
  return { ...task, ended: null, tails: new Set(), gone, go };
}

function exitCodeOf(task: HollowTask): number {
  return Number(task.launch.env['HOLLOW_EXIT_CODE'] ?? 0);
}

function folder(attempt: string): string {
  return `attempts/${attempt}`;
}
