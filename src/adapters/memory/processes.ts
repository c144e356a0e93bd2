import type { Exit } from '../../core/allocation.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Disk } from '../../ports/disk.ts';
import type { ProcessIdentity, Processes } from '../../ports/process.ts';
import { DiskError } from '../../ports/disk.ts';
import type { ClaimRecord, ExitRecord, ShimLaunch, StartedRecord } from '../../wire/shim-files.ts';
import {
  ATTEMPT_FILES,
  claimFile,
  decodeLaunch,
  exitFile,
  segmentName,
  startedFile,
} from '../../wire/shim-files.ts';

export interface HollowProcessesOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly bootId?: string;
}

interface Hollow {
  readonly identity: ProcessIdentity;
  readonly launch: ShimLaunch;
  out: number;
  err: number;
  cancel: () => void;
  /** How it ended, while the disk does not take it. */
  ended: ExitRecord | null;
  readonly signals: string[];
}

const ENOENT = 2;
const RECORD_AGAIN_MS = 250;
/** What a hollow task of this command does: nothing, since there is no such command. */
export const HOLLOW_MISSING_COMMAND = 'no-such-command';

/**
 * Shims and tasks that only take time, and keep the files that real ones keep: for hollow hosts, tests and simulations.
 *
 * A task's environment says what it does: `HOLLOW_RUN_MS` is how long it runs (0 or absent: until it is stopped) and
 * `HOLLOW_EXIT_CODE` how it ends then. Any signal ends it, unless `HOLLOW_IGNORES_SIGNALS` is set.
 */
export class HollowProcesses implements Processes {
  readonly self: ProcessIdentity;
  readonly bootId: string;
  readonly #disk: Disk;
  readonly #clock: Clock;
  readonly #running = new Map<string, Hollow>();
  readonly #listeners = new Set<(attempt: string) => void>();
  readonly #takenPorts = new Set<number>();
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

  /** Somebody else listens at the port. */
  takePort(port: number): void {
    this.#takenPorts.add(port);
  }

  freePort(port: number): void {
    this.#takenPorts.delete(port);
  }

  /** The task prints. */
  async print(attempt: string, text: string): Promise<void> {
    const task = this.#running.get(attempt);
    if (task === undefined) throw new Error(`${attempt} does not run`);
    await this.#disk.append(`${folder(attempt)}/${segmentName('stdout', task.launch.outBase)}`, text);
    task.out += new TextEncoder().encode(text).length;
  }

  /** The task's process ends like this. */
  async end(attempt: string, exit: Exit & { readonly execErrno?: number }): Promise<void> {
    const task = this.#running.get(attempt);
    if (task === undefined || task.ended !== null) return;
    task.cancel();
    const { out, err } = task;
    task.ended = { ...exit, out, err, atMs: Math.round(this.#clock.nowMs()), by: 'shim' };
    await this.#recordEnd(attempt, task, task.ended);
  }

  /** A shim stays until its task's end is written, however long the disk takes nothing. */
  async #recordEnd(attempt: string, task: Hollow, record: ExitRecord): Promise<void> {
    try {
      await this.#disk.publish(`${folder(attempt)}/${ATTEMPT_FILES.exit}`, exitFile.encode(record));
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      task.cancel = this.#clock.after(RECORD_AGAIN_MS, () => void this.#recordEnd(attempt, task, record));
      return;
    }
    this.#running.delete(attempt);
    this.#tell(attempt);
  }

  /** The shim is gone and leaves no word of its task's end. */
  loseShim(attempt: string): void {
    this.#running.get(attempt)?.cancel();
    this.#running.delete(attempt);
    this.#tell(attempt);
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
    const task: Hollow = {
      identity,
      launch,
      out: launch.outBase,
      err: launch.errBase,
      cancel: () => undefined,
      ended: null,
      signals: [],
    };
    this.#running.set(attempt, task);
    if (launch.command[0] === HOLLOW_MISSING_COMMAND) return this.end(attempt, { execErrno: ENOENT });
    const started: StartedRecord = {
      pid: identity.pid,
      start: identity.start,
      atMs: Math.round(this.#clock.nowMs()),
    };
    await this.#disk.publish(`${folder(attempt)}/${ATTEMPT_FILES.started}`, startedFile.encode(started));
    const runMs = Number(launch.env['HOLLOW_RUN_MS'] ?? 0);
    const code = Number(launch.env['HOLLOW_EXIT_CODE'] ?? 0);
    if (runMs > 0) task.cancel = this.#clock.after(runMs, () => void this.end(attempt, { code }));
    this.#tell(attempt);
  }

  async signal(attempt: string, signal: string): Promise<boolean> {
    const task = this.#running.get(attempt);
    if (task === undefined) return false;
    task.signals.push(signal);
    if (task.launch.env['HOLLOW_IGNORES_SIGNALS'] === undefined) await this.end(attempt, { signal });
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

  portsInUse(ports: readonly number[]): Promise<readonly number[]> {
    return Promise.resolve(ports.filter((port) => this.#takenPorts.has(port)));
  }

  onEvent(listener: (attempt: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
  }

  #tell(attempt: string): void {
    for (const listener of [...this.#listeners]) listener(attempt);
  }
}

function folder(attempt: string): string {
  return `attempts/${attempt}`;
}
