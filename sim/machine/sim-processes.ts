import type { MarkedAttempt, ProcessIdentity, Processes, ShimLink } from '../../src/ports/process.ts';
import { ProcessError } from '../../src/ports/process.ts';
import type { Life } from '../agenda/life.ts';
import type { Machine } from './machine.ts';
import type { TaskTable } from './task-table.ts';

const EVENT_DELAY_MS = 2;

/** The machine's processes for one life of its agent. */
export class SimProcesses implements Processes {
  readonly bootId: string;
  readonly self: ProcessIdentity;
  readonly #machine: Machine;
  readonly #tasks: TaskTable;
  readonly #life: Life;

  constructor(machine: Machine, life: Life) {
    this.#machine = machine;
    this.#tasks = machine.tasks;
    this.#life = life;
    this.bootId = machine.bootId;
    this.self = machine.tasks.identity();
    machine.agents.set(this.self.pid, life);
  }

  isAlive(identity: ProcessIdentity): Promise<boolean> {
    return this.#ask('look at process', () => this.#machine.isAlive(identity));
  }

  startShim(attempt: string): Promise<void> {
    const { agenda, life } = this.#machine;
    return new Promise((resolve, reject) => {
      const spawned = (): void => {
        const refused = this.#machine.starts.now.refused;
        if (!refused) this.#tasks.startShim(attempt);
        this.#continue(() => (refused ? reject(new ProcessError('fork: EAGAIN')) : resolve()));
      };
      agenda.after(this.#tasks.spawnDelayMs(), life, 'spawn shim', spawned, attempt);
    });
  }

  /** Commands inside tasks are not simulated: the answer is that of a task that has ended. */
  exec(): Promise<null> {
    return Promise.resolve(null);
  }

  /** Shims take orders by signal here; a link only renews their contact. */
  open(attempt: string): Promise<ShimLink | null> {
    return this.#ask('ask shim', () => (this.#tasks.hasShim(attempt) ? this.#linkTo(attempt) : null));
  }

  #linkTo(attempt: string): ShimLink {
    const silent = (): Promise<null> => Promise.resolve(null);
    return {
      ...{ state: silent, writeStdin: silent, endStdin: silent, signal: silent, resize: silent },
      ...{ killTree: silent, freeze: silent, tail: silent, ended: Promise.resolve(), close: () => undefined },
      renew: (forMs) =>
        this.#ask('renew', () => (forMs !== null && this.#tasks.renew(attempt, forMs) ? 0 : null)),
    };
  }

  signal(attempt: string, signal: string): Promise<boolean> {
    return this.#ask('signal', () => this.#tasks.signal(attempt, signal));
  }

  answers(attempt: string): Promise<boolean> {
    return this.#ask('ask shim', () => this.#tasks.hasShim(attempt));
  }

  killTree(attempt: string): Promise<boolean> {
    return this.#ask('kill tree', () => this.#tasks.killTree(attempt));
  }

  killLeftovers(attempt: string): Promise<number> {
    return this.#ask('kill leftovers', () => this.#tasks.killLeftovers(attempt));
  }

  /** Every process here is known to its shim or to the agent. */
  marked(): Promise<readonly MarkedAttempt[]> {
    return Promise.resolve([]);
  }

  killMarked(): Promise<number> {
    return Promise.resolve(0);
  }

  portsInUse(ports: readonly number[]): Promise<readonly number[]> {
    return this.#ask('look at ports', () => this.#tasks.portsInUse(ports));
  }

  addressesInUse(addresses: readonly string[]): Promise<readonly string[]> {
    return this.#ask('look at addresses', () => this.#tasks.addressesInUse(addresses));
  }

  onEvent(listener: (attempt: string) => void): () => void {
    const { agenda, random } = this.#machine;
    const stop = this.#tasks.onEvent((attempt) => {
      if (this.#life.ended) return stop();
      agenda.after(
        random.fraction() * EVENT_DELAY_MS,
        this.#life,
        'process event',
        () => listener(attempt),
        attempt,
      );
    });
    return stop;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #ask<T>(kind: string, work: () => T): Promise<T> {
    const { agenda, life, disk } = this.#machine;
    return new Promise((resolve) => {
      const done = (): void => {
        const value = work();
        this.#continue(() => resolve(value));
      };
      agenda.after(disk.delayMs(), life, kind, done);
    });
  }

  /** Settles in the agent's life: not after its end, and not during a pause. */
  #continue(settle: () => void): void {
    if (this.#life.ended) return;
    if (this.#life.paused) this.#machine.agenda.after(0, this.#life, 'go on', settle);
    else settle();
  }
}
