import { DiskError } from '../../src/ports/disk.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { attemptName } from '../../src/wire/host-files/attempt-files.ts';
import { removeAttempt } from '../tasks/attempt.ts';
import type { TaskPorts } from '../drivers/drivers.ts';
import type { AttemptNumbers } from './findings.ts';

/** How long a removal waits for the processes of an allocation whose record was lost. */
const KILLS_MAX = 50;
const KILL_AGAIN_MS = 50;

/**
 * Attempts whose allocation's record cannot be read. They run on, untouched, until an order says what they are: a repeated
 * start takes them over, a stop or removal ends them (I31).
 */
export class Orphans {
  readonly #ports: TaskPorts;
  readonly #found = new Map<string, AttemptNumbers>();

  constructor(ports: TaskPorts) {
    this.#ports = ports;
  }

  get ids(): readonly string[] {
    return [...this.#found.keys()];
  }

  has(id: string): boolean {
    return this.#found.has(id);
  }

  add(found: ReadonlyMap<string, AttemptNumbers>): void {
    for (const [id, attempts] of found) {
      this.#found.set(id, attempts);
      this.#ports.log.error({ allocation: id }, 'its record cannot be read; what runs of it is left alone');
    }
  }

  /** The orphan is known again, and no longer one. */
  take(id: string): AttemptNumbers | undefined {
    const found = this.#found.get(id);
    this.#found.delete(id);
    return found;
  }

  /**
   * Ends and removes what is left of an allocation whose id is fenced. Files that the disk does not let go of are left for the
   * search for leaks.
   * @throws ProblemError `still-running`: it must not be answered that nothing of it runs
   */
  async clear(id: string): Promise<void> {
    const orphan = this.#found.get(id);
    if (orphan === undefined) return;
    const names = [...orphan].flatMap(([task, numbers]) =>
      numbers.map((number) => attemptName(id, task, number)),
    );
    // All of them before any file: where none can be removed, nothing may run on for that.
    let ended = true;
    for (const name of names) if (!(await this.#endAll(name))) ended = false;
    if (!ended) throw stillRunning(id);
    try {
      await this.#removeFiles(id, names);
      this.#found.delete(id);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#ports.log.error({ allocation: id, error }, 'what is left of it cannot be removed yet');
    }
  }

  async #removeFiles(id: string, attempts: readonly string[]): Promise<void> {
    const { disk, tools } = this.#ports;
    for (const name of attempts) {
      await tools.cleanup(name);
      await removeAttempt(disk, name);
    }
    await disk.remove(`allocations/${id}`);
  }

  /**
   * Also its shim: one that writes its last facts into a folder that is taken away would never end.
   * @returns whether nothing of it is left
   */
  async #endAll(name: string): Promise<boolean> {
    const { clock, processes } = this.#ports;
    for (let i = 0; i < KILLS_MAX; i++) {
      const isThere = await processes.killTree(name);
      const left = await processes.killLeftovers(name);
      if (!isThere && left === 0) return true;
      if (i > 0) await sleep(clock, KILL_AGAIN_MS);
    }
    return false;
  }
}

function stillRunning(id: string): ProblemError {
  return new ProblemError({
    status: 503,
    code: 'still-running',
    detail: `what runs of allocation ${id} has been killed and has not ended yet`,
    hint: 'ask again',
  });
}
