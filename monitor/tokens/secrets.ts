import type { Secret } from '../../src/core/access/secret.ts';
import { SECRETS_MAX } from '../../src/core/access/secret.ts';
import type { Write } from '../../src/ports/cell-store.ts';
import type { RolePorts } from '../../src/runtime/runtime.ts';
import type { SecretStatus } from '../../src/wire/access/secret-api.ts';
import { secretCodec } from '../../src/wire/records/records.ts';
import { RecordError } from '../../src/wire/wire.ts';
import { outcomeUnknown, refuse } from '../refusals.ts';

export type SecretsDeps = Pick<RolePorts, 'store' | 'keys' | 'clock' | 'log'>;

/** What a namespace has is counted and then written: who sets many at once may come to a few more. */
export class Secrets {
  readonly #deps: SecretsDeps;

  constructor(deps: SecretsDeps) {
    this.#deps = deps;
  }

  /** By namespace and name. @param prefix of their keys */
  async list(prefix: string): Promise<readonly SecretStatus[]> {
    const { store, log } = this.#deps;
    const { entries } = await store.list(prefix);
    return [...entries.values()].flatMap(({ key, value }) => {
      try {
        const { namespace, name, setBy, setAtMs } = secretCodec.decode(value);
        return [{ namespace, name, setBy, setAtMs }];
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        log.error({ key, error }, 'a record cannot be read and is left out');
        return [];
      }
    });
  }

  /** @throws ProblemError */
  async set(secret: Omit<Secret, 'setAtMs'>): Promise<void> {
    const { keys, clock } = this.#deps;
    const { namespace, name } = secret;
    const known = await this.list(keys.secretsOf(namespace));
    if (known.length >= SECRETS_MAX && known.every((one) => one.name !== name))
      throw refuse(409, 'too-many-secrets', `namespace ${namespace} has ${String(SECRETS_MAX)} secrets`, {
        hint: 'moorage secret list, then moorage secret delete NAME',
      });
    const value = secretCodec.encode({ ...secret, setAtMs: clock.nowMs() });
    await this.#write({ kind: 'put', key: keys.secret(namespace, name), value });
  }

  /** @returns false: there is none */
  async delete(namespace: string, name: string): Promise<boolean> {
    const { store, keys } = this.#deps;
    const key = keys.secret(namespace, name);
    if ((await store.read([key])).entries.get(key) === undefined) return false;
    await this.#write({ kind: 'delete', key });
    return true;
  }

  async #write(write: Write): Promise<void> {
    const reply = await this.#deps.store.attempt({ compares: [], writes: [write], readBack: [] });
    if (reply.outcome === 'unknown') throw outcomeUnknown('moorage secret list shows whether it was');
  }
}
