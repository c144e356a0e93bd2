import { secretsOf } from '../../src/core/access/secret.ts';
import type { Secret } from '../../src/core/access/secret.ts';
import type { Task } from '../../src/core/cell/job.ts';
import type { RolePorts } from '../../src/runtime/runtime.ts';
import { Table } from '../../src/runtime/records/records.ts';
import { secretCodec } from '../../src/wire/records/records.ts';

type Tasks = Readonly<Record<string, Task>>;

/** The cell's secrets, as the store has them: sealed to the hosts, so that a scheduler passes on what it cannot read. */
export class CellSecrets {
  readonly ready: Promise<unknown>;
  readonly #table: Table<Secret>;

  constructor({ store, keys, log }: Pick<RolePorts, 'store' | 'keys' | 'log'>) {
    this.#table = new Table<Secret>(store, keys.secrets, secretCodec, {
      onBadRecord: (error, key) => log.error({ key, error }, 'unreadable record'),
    });
    this.ready = this.#table.ready;
    // A term that ends before it was ready does not await it.
    this.ready.catch(() => undefined);
  }

  /** @returns what these tasks wait for, for people; null: nothing */
  lacks(namespace: string, tasks: Tasks): string | null {
    const missing = secretsOf(tasks).find((name) => this.#table.get(`${namespace}/${name}`) === undefined);
    return missing === undefined
      ? null
      : `namespace ${namespace} has no secret ${missing}: moorage secret set ${missing} -n ${namespace}`;
  }

  /** @returns by name; null: these tasks use none; a text: what they lack, for people */
  sealedFor(namespace: string, tasks: Tasks): Readonly<Record<string, string>> | null | string {
    const lacks = this.lacks(namespace, tasks);
    if (lacks !== null) return lacks;
    const names = secretsOf(tasks);
    if (names.length === 0) return null;
    return Object.fromEntries(
      names.map((name) => [name, this.#table.get(`${namespace}/${name}`)?.value.sealed ?? '']),
    );
  }

  close(): void {
    this.#table.close();
  }
}
