import type { OpenIdProvider, ProviderKeysState } from '../../core/access/openid.ts';

/**
 * The monitor's API about providers of OpenID, whose tokens count.
 *
 *   GET    /v1/openid         → OpenIdListAnswer
 *   PUT    /v1/openid/:name   OpenIdRequest → OpenIdStatus; the last one counts
 *   DELETE /v1/openid/:name   → 204; tokens of its issuer count no more
 */
export type OpenIdRequest = Pick<
  OpenIdProvider,
  'issuer' | 'audience' | 'namespacesClaim' | 'scopeClaim' | 'authorities'
>;

export interface OpenIdStatus extends OpenIdProvider {
  /** Of the provider, as the monitor that answers knows them. */
  readonly keys: ProviderKeysState;
}

export interface OpenIdListAnswer {
  readonly providers: readonly OpenIdStatus[];
}
