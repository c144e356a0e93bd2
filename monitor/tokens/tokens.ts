/**
 * Tokens of people. `tokens.ts` makes, lists and revokes them in the store, which holds their hashes only; `held-tokens.ts`
 * tells who holds one that comes with a request, and ends what is open with one that counts no more. `invitations.ts`: machines
 * that may become hosts, once. `secrets.ts`: the secrets of their jobs,
 * which come here sealed. `openid-people.ts`: people with tokens that somebody else made, whom `openid-providers.ts` lists.
 */
import { isOfCell } from '../../src/core/access/person.ts';
import type { Token } from '../../src/core/access/token.ts';
import { TOKENS_MAX, tokenText } from '../../src/core/access/token.ts';
import { SECRET_BYTES } from '../../src/core/access/secret-text.ts';
import { makeId } from '../../src/core/cell/ids.ts';
import type { Write } from '../../src/ports/cell-store.ts';
import type { Digest } from '../../src/ports/crypto.ts';
import type { RolePorts } from '../../src/runtime/runtime.ts';
import type { NewToken, TokenRequest, TokenStatus } from '../../src/wire/access/token-api.ts';
import { tokenCodec } from '../../src/wire/records/records.ts';
import { RecordError } from '../../src/wire/wire.ts';
import { outcomeUnknown, refuse } from '../refusals.ts';

export interface TokensDeps extends Pick<RolePorts, 'store' | 'keys' | 'clock' | 'random' | 'log'> {
  readonly digest: Digest;
}

export class Tokens {
  readonly #deps: TokensDeps;

  constructor(deps: TokensDeps) {
    this.#deps = deps;
  }

  /**
   * @param by who makes it
   * @throws ProblemError
   */
  async create(request: TokenRequest, by: string): Promise<NewToken> {
    const { name, scope, namespaces, ttlMs } = request;
    if (namespaces !== null && isOfCell(scope))
      throw refuse(400, 'bad-request', `a token of scope ${scope} is of all namespaces`, {
        path: 'namespaces',
        hint: 'leave the namespaces out, or give the scope submit',
      });
    const { clock, random, digest, keys } = this.#deps;
    const nowMs = clock.nowMs();
    const ended = await this.#makeRoom(nowMs);
    const id = makeId(nowMs, random.bytes(16));
    const token = tokenText(id, random.bytes(SECRET_BYTES));
    const record: Token = {
      ...{ id, name, hash: digest(token), scope, namespaces },
      ...{ createdBy: by, createdAtMs: nowMs, endsAtMs: nowMs + ttlMs },
    };
    await this.#write([
      { kind: 'put', key: keys.token(id), value: tokenCodec.encode(record) },
      ...ended.map((one): Write => ({ kind: 'delete', key: keys.token(one.id) })),
    ]);
    return { ...statusOf(record), token };
  }

  /** The newest last; those that have ended too, as long as their records are there. */
  async list(): Promise<readonly TokenStatus[]> {
    return (await this.#all()).map(statusOf);
  }

  /** @returns false: there is none */
  async revoke(id: string): Promise<boolean> {
    const { store, keys } = this.#deps;
    const key = keys.token(id);
    if ((await store.read([key])).entries.get(key) === undefined) return false;
    await this.#write([{ kind: 'delete', key }]);
    return true;
  }

  /** @returns those that have ended, whose records may go */
  async #makeRoom(nowMs: number): Promise<readonly Token[]> {
    const known = await this.#all();
    const ended = known.filter(({ endsAtMs }) => endsAtMs <= nowMs);
    if (known.length - ended.length >= TOKENS_MAX)
      throw refuse(409, 'too-many-tokens', `there are ${String(TOKENS_MAX)} tokens already`, {
        hint: 'moorage token list, then moorage token revoke ID',
      });
    return ended.slice(0, REMOVED_AT_ONCE_MAX);
  }

  async #all(): Promise<Token[]> {
    const { store, keys, log } = this.#deps;
    const { entries } = await store.list(keys.tokens);
    return [...entries.values()].flatMap(({ key, value }) => {
      try {
        return [tokenCodec.decode(value)];
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        log.error({ key, error }, 'a record cannot be read and is left out');
        return [];
      }
    });
  }

  async #write(writes: readonly Write[]): Promise<void> {
    const reply = await this.#deps.store.attempt({ compares: [], writes, readBack: [] });
    if (reply.outcome === 'unknown') throw outcomeUnknown('moorage token list shows whether it was');
  }
}

/** With a new one, in one transaction. */
const REMOVED_AT_ONCE_MAX = 32;

function statusOf({ id, name, scope, namespaces, createdBy, createdAtMs, endsAtMs }: Token): TokenStatus {
  return { id, name, scope, namespaces, createdBy, createdAtMs, endsAtMs };
}
