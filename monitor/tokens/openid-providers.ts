import type { OpenIdProvider, ProviderKeysState } from '../../src/core/access/openid.ts';
import { PROVIDERS_MAX } from '../../src/core/access/openid.ts';
import type { Write } from '../../src/ports/cell-store.ts';
import type { RolePorts } from '../../src/runtime/runtime.ts';
import type { OpenIdRequest, OpenIdStatus } from '../../src/wire/access/openid-api.ts';
import { openIdProviderCodec } from '../../src/wire/records/records.ts';
import type { CellCopy } from '../view/view.ts';
import { outcomeUnknown, refuse } from '../refusals.ts';

export interface OpenIdProvidersDeps extends Pick<RolePorts, 'store' | 'keys' | 'clock'> {
  readonly copy: CellCopy;
  readonly keysOf: (issuer: string) => ProviderKeysState;
}

export const NO_KEYS: ProviderKeysState = { readAtMs: null, count: 0, fault: null };

/** Whose tokens count beside the cell's own. Every monitor follows the list in its copy of the cell. */
export class OpenIdProviders {
  readonly #deps: OpenIdProvidersDeps;

  constructor(deps: OpenIdProvidersDeps) {
    this.#deps = deps;
  }

  /** By name. */
  list(): readonly OpenIdStatus[] {
    const rows = [...this.#deps.copy.openid.rows()].map(([, { value }]) => this.#status(value));
    return rows.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * @param by who sets it
   * @returns the revision at which it holds
   * @throws ProblemError
   */
  async set(
    name: string,
    request: OpenIdRequest,
    by: string,
  ): Promise<{ readonly status: OpenIdStatus; readonly revision: number }> {
    const { store, keys, clock } = this.#deps;
    const key = keys.openidProvider(name);
    const { entries } = await store.list(keys.openid);
    if (entries.size >= PROVIDERS_MAX && !entries.has(key))
      throw refuse(409, 'too-many-providers', `a cell has at most ${String(PROVIDERS_MAX)} providers`, {
        hint: 'moorage openid list, then moorage openid delete NAME',
      });
    const provider: OpenIdProvider = { name, ...request, setBy: by, setAtMs: clock.nowMs() };
    const revision = await this.#write({ kind: 'put', key, value: openIdProviderCodec.encode(provider) });
    return { status: this.#status(provider), revision };
  }

  /** @returns the revision at which it is gone; null: there was none */
  async delete(name: string): Promise<number | null> {
    const { store, keys } = this.#deps;
    const key = keys.openidProvider(name);
    if ((await store.read([key])).entries.get(key) === undefined) return null;
    return await this.#write({ kind: 'delete', key });
  }

  #status(provider: OpenIdProvider): OpenIdStatus {
    return { ...provider, keys: this.#deps.keysOf(provider.issuer) };
  }

  async #write(write: Write): Promise<number> {
    const reply = await this.#deps.store.attempt({ compares: [], writes: [write], readBack: [] });
    if (reply.outcome === 'unknown') throw outcomeUnknown('moorage openid list shows whether it was');
    return reply.revision;
  }
}
