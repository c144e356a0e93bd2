/**
 * A host below its agent: clocks, disk and processes. A machine lives from boot to boot; a loss of power ends its life and keeps of its
 * disk what was synced. An agent reaches it through two ports, each for one life of the agent.
 *
 * - `platform.ts`: what a machine offers to the tasks on it
 * - `sim-disk.ts`: the disk port; `disk-content.ts`: the files, and what of them is synced; `disk-faults.ts`: delays and failures
 * - `sim-processes.ts`: the process port
 * - `task-table.ts`: shims and tasks that run, their signals, ports and ends; `task-output.ts`: what a task writes to its stdout
 * - `shared-storage.ts`: storage that all machines reach, behind a volume driver
 * - `task-env.ts`: the environment variables by which a job says what its simulated task does
 */
import type { SeededRandom } from '../../src/core/random/random.ts';
import type { ProcessIdentity } from '../../src/ports/process.ts';
import type { History } from '../history/history.ts';
import type { Agenda } from '../agenda/agenda.ts';
import { Life } from '../agenda/life.ts';
import { Overlay } from '../agenda/overlay.ts';
import { Timekeeper } from '../agenda/virtual-clock.ts';
import type { Torn } from './disk-content.ts';
import { DiskContent } from './disk-content.ts';
import { DiskFaultProfile } from './disk-faults.ts';
import type { Platform, StartSettings } from './platform.ts';
import { TaskTable } from './task-table.ts';

/** Files whose last write is remembered; writes that are done need not be. */
const WRITES_KEPT = 256;

/**
 * A host below its agent: clocks, disk, processes. It lives from boot to boot; what was synced to its disk outlives even
 * that. Its life is named `<host>/machine`, that of its agent `<host>`.
 */
export class Machine implements Platform {
  readonly host: string;
  readonly agenda: Agenda;
  readonly random: SeededRandom;
  readonly history: History;
  readonly time: Timekeeper;
  readonly content = new DiskContent();
  readonly disk: DiskFaultProfile;
  /** Appends asked for and not yet done. */
  readonly tearing = new Set<Torn>();
  /** Agents of this boot, by their process number. */
  readonly agents = new Map<number, Life>();
  readonly starts = new Overlay<StartSettings>({ failing: 0, slowness: 1, refused: false });
  readonly #writtenMs = new Map<string, number>();
  #life: Life;
  #tasks: TaskTable;
  #boots = 1;

  constructor(parts: {
    readonly host: string;
    readonly agenda: Agenda;
    readonly random: SeededRandom;
    readonly history: History;
  }) {
    this.host = parts.host;
    this.agenda = parts.agenda;
    this.random = parts.random;
    this.history = parts.history;
    this.time = new Timekeeper(parts.agenda);
    this.disk = new DiskFaultProfile(parts.random.split('disk'));
    this.#life = new Life(`${this.host}/machine`, this.#boots);
    this.#tasks = new TaskTable(this, this.bootId);
    this.history.add('hosts', { kind: 'boot', host: this.host, boot: this.bootId });
  }

  get life(): Life {
    return this.#life;
  }

  get bootId(): string {
    return `${this.host}-boot-${String(this.#boots)}`;
  }

  get tasks(): TaskTable {
    return this.#tasks;
  }

  /** Writes of one file are done in their order. @returns the delay of this one */
  inOrder(path: string, delayMs: number): number {
    const { nowMs } = this.agenda;
    const atMs = Math.max(this.#writtenMs.get(path) ?? 0, nowMs + delayMs);
    if (this.#writtenMs.size >= WRITES_KEPT)
      for (const [file, writtenMs] of this.#writtenMs) if (writtenMs <= nowMs) this.#writtenMs.delete(file);
    this.#writtenMs.set(path, atMs);
    return atMs - nowMs;
  }

  /** Does exactly this process run? */
  isAlive(identity: ProcessIdentity): boolean {
    if (identity.boot !== this.bootId) return false;
    const agent = this.agents.get(identity.pid);
    return agent === undefined ? this.#tasks.isAlive(identity) : !agent.ended;
  }

  /** Power goes: nothing runs, what was not synced is gone, what was being appended is torn. */
  losePower(): void {
    this.#life.end();
    this.history.add('hosts', { kind: 'power-off', host: this.host });
    for (const { path, text } of this.tearing) {
      const kept = Math.floor(text.length * this.random.fraction());
      if (kept > 0) this.content.append(path, text.slice(0, kept), true);
    }
    this.tearing.clear();
    this.content.losePower(() => this.random.fraction());
  }

  /** Power comes back, after `losePower`. */
  boot(): void {
    this.#boots += 1;
    this.agents.clear();
    this.#life = new Life(`${this.host}/machine`, this.#boots);
    this.#tasks = new TaskTable(this, this.bootId);
    this.history.add('hosts', { kind: 'boot', host: this.host, boot: this.bootId });
  }
}
