import { sleep } from '../src/runtime/sleep.ts';
import { attemptName } from '../src/wire/shim-files.ts';
import { attemptFolder } from './attempt.ts';
import type { TaskPorts } from './drivers/task-tools.ts';
import type { AttemptNumbers } from './recovery.ts';

/** How long a removal waits for the processes of an allocation whose record was lost. */
const KILLS_MAX = 50;
const KILL_AGAIN_MS = 50;

/**
 * Attempts whose allocation's record cannot be read. They run on, untouched, until somebody says what they are: a repeated
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

  /** Ends and removes what is left of the allocation. */
  async clear(id: string): Promise<void> {
    const { disk, tools } = this.#ports;
    const orphan = this.#found.get(id);
    if (orphan === undefined) return;
    for (const [task, numbers] of orphan)
      for (const number of numbers) {
        const name = attemptName(id, task, number);
        await this.#endAll(name);
        await tools.cleanup(name);
        await disk.remove(attemptFolder(name));
      }
    await disk.remove(`allocations/${id}`);
    this.#found.delete(id);
  }

  /** Also its shim: one that writes its last facts into a folder that is taken away would never end. */
  async #endAll(name: string): Promise<void> {
    const { clock, processes } = this.#ports;
    for (let i = 0; i < KILLS_MAX; i++) {
      const isThere = await processes.killTree(name);
      const left = await processes.killLeftovers(name);
      if (!isThere && left === 0) return;
      if (i > 0) await sleep(clock, KILL_AGAIN_MS);
    }
  }
}
