import type { Commands } from '../../src/ports/commands.ts';
import type { OpenSecret } from '../../src/ports/crypto.ts';
import type { Disk } from '../../src/ports/disk.ts';
import type { AttemptOrder } from './task-driver.ts';
import { PrepareError } from './task-driver.ts';

/** Where a task in namespaces of its own finds its secrets. */
export const SECRETS = '/secrets';
/** The folder, for the task. */
export const SECRETS_ENV = 'MOORAGE_SECRETS';

const FOLDER = 'secrets';
const MOUNT_MS = 10_000;
/** Beyond what a group's secrets take. */
const SIZE = '256k';

export interface TaskSecretsParts {
  readonly commands: Commands;
  readonly disk: Disk;
  readonly open: OpenSecret;
}

/**
 * Secrets of tasks, in memory: for each attempt a file system of its own below the state folder, which no other task sees.
 * It is the task's user's, to read and no more, and goes with the attempt. It outlives the agent, as the task does.
 */
export class TaskSecrets {
  readonly #parts: TaskSecretsParts;
  /** Attempts that may have a folder; null: nobody looked since this agent began. Most tasks have none, and cost no look. */
  #brought: Set<string> | null = null;

  constructor(parts: TaskSecretsParts) {
    this.#parts = parts;
  }

  /**
   * May be done again: what was begun is done from the start.
   * @param uid who may read them
   * @returns their folder, by its absolute path
   * @throws PrepareError
   */
  async bring({ attempt, allocation, task, sealed = {} }: AttemptOrder, uid: number): Promise<string> {
    const { disk, open } = this.#parts;
    const names = task.secrets ?? [];
    const values = names.map((name) => {
      const value = open({ namespace: allocation.namespace, name }, sealed[name] ?? '');
      if (value !== null) return value;
      throw new PrepareError(
        `the secret ${name} of namespace ${allocation.namespace} was not sealed to the hosts of this cell: moorage secret set ${name}`,
      );
    });
    if (!(await this.remove(attempt))) throw new PrepareError('what was left of its secrets is still in use');
    const folder = `${FOLDER}/${attempt}`;
    const path = disk.absolute(folder);
    this.#brought?.add(attempt);
    await disk.makeFolder(folder);
    const owner = String(uid);
    const flags = `size=${SIZE},mode=0500,uid=${owner},gid=${owner},nosuid,nodev,noexec`;
    await this.#run(['mount', '-t', 'tmpfs', '-o', flags, 'moorage-secrets', path]);
    for (const [n, name] of names.entries())
      await disk.publish(`${folder}/${name}`, values[n] ?? '', { durable: false });
    const files = names.map((name) => `${path}/${name}`);
    await this.#run(['chmod', '0400', '--', ...files]);
    await this.#run(['chown', `${owner}:${owner}`, '--', ...files]);
    return path;
  }

  /** @returns false while something is left */
  async remove(attempt: string): Promise<boolean> {
    const { commands, disk } = this.#parts;
    this.#brought ??= new Set(await this.scan());
    if (!this.#brought.has(attempt)) return true;
    if (!(await this.scan()).includes(attempt)) return this.#removed(attempt);
    const folder = `${FOLDER}/${attempt}`;
    // First of all: where a copy of the mount lives on in another task's sight, it has nothing in it.
    for (const name of await disk.list(folder)) await disk.remove(`${folder}/${name}`);
    const { code, err } = await commands.run(['umount', '--', disk.absolute(folder)], MOUNT_MS);
    if (code !== 0 && !err.includes('not mounted')) return false;
    await disk.remove(folder);
    return this.#removed(attempt);
  }

  #removed(attempt: string): true {
    this.#brought?.delete(attempt);
    return true;
  }

  scan(): Promise<readonly string[]> {
    return this.#parts.disk.list(FOLDER);
  }

  async #run(command: readonly string[]): Promise<void> {
    const { code, err } = await this.#parts.commands.run(command, MOUNT_MS);
    if (code !== 0) throw new PrepareError(`cannot bring its secrets: ${err.trim()}`);
  }
}

/** @throws PrepareError where this host keeps none */
export function secretsFor(
  secrets: TaskSecrets | null,
  order: AttemptOrder,
  uid: number | undefined,
): Promise<string> | null {
  if (order.task.secrets === undefined) return null;
  if (secrets === null || uid === undefined)
    throw new PrepareError(
      'this host keeps no secrets: it takes tasks that are strangers, and the key of the hosts',
    );
  return secrets.bring(order, uid);
}
