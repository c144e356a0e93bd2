import type { FlattenedJWSInput, JWSHeaderParameters, JWTVerifyGetKey } from 'jose';
import { createRemoteJWKSet, customFetch, errors } from 'jose';
import { Agent, request } from 'undici';
import { errorText } from '../../core/errors/errors.ts';
import type { OpenIdProvider, ProviderKeysState } from '../../core/access/openid.ts';
import { mayHoldKeys } from '../../core/access/openid.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/telemetry.ts';

/** How often keys are read again, so that one that its provider withdrew counts no longer. */
const REFRESH_MS = 300_000;
/** Keys that could not be read again for so long count no more. */
const KEPT_MS = 24 * 3_600_000;
/** A token with an unknown key makes them read again, once in this time. */
const COOLDOWN_MS = 30_000;
/** After a try that failed. */
const RETRY_MS = 5_000;
const TIMEOUT_MS = 3_000;
const ANSWER_BYTES_MAX = 256 * 1024;
/** Tokens with unknown keys that wait for the provider at once. */
const WAITING_MAX = 8;

/** Whether the token counts cannot be said: its provider's keys cannot be read. */
export class KeysAway extends Error {
  override readonly name = 'KeysAway';
}

type Keys = ReturnType<typeof createRemoteJWKSet>;

/**
 * The keys of one provider: where they are is asked once in a while (OpenID Connect Discovery), and they are kept. Nobody waits for
 * the provider whose token is signed by a key that is known here.
 */
export class ProviderKeys {
  readonly #issuer: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #agent: Agent;
  #cancel: () => void;
  #isClosed = false;
  #keys: Keys | null = null;
  /** Where `#keys` are read. */
  #url = '';
  #opening: Promise<Keys> | null = null;
  #waiting = 0;
  #readAt: { readonly wallMs: number; readonly atMs: number } | null = null;
  #failed: { readonly atMs: number; readonly fault: string } | null = null;

  constructor(
    { issuer, authorities }: OpenIdProvider,
    { clock, log }: { readonly clock: Clock; readonly log: Log },
  ) {
    this.#issuer = issuer;
    this.#clock = clock;
    this.#log = log;
    this.#agent = new Agent({
      connect: { timeout: TIMEOUT_MS, ...(authorities === undefined ? {} : { ca: authorities }) },
      ...{ headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS, maxResponseSize: ANSWER_BYTES_MAX },
    });
    this.#cancel = clock.after(0, () => void this.#refresh());
  }

  get state(): ProviderKeysState {
    const count = this.#keys?.jwks()?.keys.length ?? 0;
    return { readAtMs: this.#readAt?.wallMs ?? null, count, fault: this.#failed?.fault ?? null };
  }

  /** @throws KeysAway, or an error of `jose` */
  readonly keyOf: JWTVerifyGetKey = async (header, token) => {
    const keys = this.#kept();
    if (keys !== null && isAmong(keys, header)) return keys(header, token);
    if (this.#waiting >= WAITING_MAX) throw new KeysAway('too many tokens with unknown keys came at once');
    this.#waiting += 1;
    try {
      return await this.#unknownKey(keys, header, token);
    } finally {
      this.#waiting -= 1;
    }
  };

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    await this.#agent.destroy();
  }

  async #unknownKey(known: Keys | null, header: JWSHeaderParameters | undefined, token: FlattenedJWSInput) {
    try {
      const keys = known ?? (await this.#open());
      return await keys(header ?? {}, token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
        throw error;
      // What was asked of the provider failed. There are keys, and this is none of those that it had.
      if (known !== null) throw new errors.JWKSNoMatchingKey();
      throw new KeysAway(errorText(error), { cause: error });
    }
  }

  #kept(): Keys | null {
    const readAt = this.#readAt;
    return readAt !== null && this.#clock.monotonicMs() - readAt.atMs <= KEPT_MS ? this.#keys : null;
  }

  /** Where keys are may have changed too. */
  async #refresh(): Promise<void> {
    try {
      await this.#open();
    } catch {
      // It is on record, and in the log.
    }
    if (!this.#isClosed) this.#cancel = this.#clock.after(REFRESH_MS, () => void this.#refresh());
  }

  #open(): Promise<Keys> {
    return (this.#opening ??= this.#discover().finally(() => (this.#opening = null)));
  }

  async #discover(): Promise<Keys> {
    const answer = await this.#fetch(`${this.#issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    const { issuer, jwks_uri: url } = (await answer.json()) as Readonly<Record<string, unknown>>;
    if (issuer !== this.#issuer) throw this.#fail(new Error('its configuration names another issuer'));
    if (typeof url !== 'string' || !mayHoldKeys(url, this.#issuer))
      throw this.#fail(new Error('its configuration names no place of keys that is secure'));
    const keys =
      this.#keys !== null && this.#url === url
        ? this.#keys
        : createRemoteJWKSet(new URL(url), {
            [customFetch]: (at: string) => this.#fetch(at, true),
            // They are read again here, and stay when that fails.
            ...{ cacheMaxAge: Infinity, cooldownDuration: COOLDOWN_MS, timeoutDuration: TIMEOUT_MS },
          });
    await keys.reload().catch((error: unknown) => {
      throw this.#fail(error);
    });
    [this.#keys, this.#url] = [keys, url];
    return keys;
  }

  /** Follows no redirect. @param ofKeys with them everything is there */
  async #fetch(url: string, ofKeys = false): Promise<Response> {
    const failed = this.#failed;
    if (failed !== null && this.#clock.monotonicMs() - failed.atMs < RETRY_MS) throw new Error(failed.fault);
    try {
      const { statusCode, body } = await request(url, {
        ...{ dispatcher: this.#agent, signal: AbortSignal.timeout(TIMEOUT_MS) },
        headers: { accept: 'application/json' },
      });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`${url} answers ${String(statusCode)}`);
      JSON.parse(text);
      if (ofKeys) this.#succeeded();
      return new Response(text);
    } catch (error) {
      throw this.#fail(error);
    }
  }

  #succeeded(): void {
    if (this.#failed !== null) this.#log.info({ issuer: this.#issuer }, 'an OpenID provider answers again');
    this.#failed = null;
    this.#readAt = { wallMs: this.#clock.nowMs(), atMs: this.#clock.monotonicMs() };
  }

  /** One line in the log until it works again. */
  #fail(error: unknown): Error {
    if (this.#failed === null && !this.#isClosed)
      this.#log.warn(
        { issuer: this.#issuer, error },
        'the keys of an OpenID provider cannot be read; those that are known go on for a day',
      );
    this.#failed = { atMs: this.#clock.monotonicMs(), fault: errorText(error) };
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Without a key's id it is looked for among all of them. */
function isAmong(keys: Keys, header: JWSHeaderParameters | undefined): boolean {
  const known = keys.jwks()?.keys ?? [];
  return header?.kid === undefined ? known.length > 0 : known.some(({ kid }) => kid === header.kid);
}
