import type { Claims, OpenIdProvider, ProviderKeysState } from '../core/access/openid.ts';

/** Tokens of OpenID providers: whether one counts, by the provider's keys, which are read over HTTP and kept. */
export interface OpenIdTokens {
  /** From now on these count, and no others; their keys are read ahead of the first token. */
  use(providers: readonly OpenIdProvider[]): void;
  /** Waits for the provider only when none of the keys that it is known to have is the token's. */
  verify(text: string): Promise<OpenIdVerdict>;
  keysOf(issuer: string): ProviderKeysState;
  close(): Promise<void>;
}

export type OpenIdVerdict =
  | {
      readonly counts: true;
      readonly provider: OpenIdProvider;
      readonly claims: Claims;
      /** With the tolerance of clocks. */
      readonly endsAtMs: number;
    }
  | { readonly counts: false; readonly why: string; readonly isSure: boolean };
