import type { Scope } from '../../core/access/person.ts';
import type { Token } from '../../core/access/token.ts';

/**
 * The monitor's API about people and their tokens.
 *
 *   GET    /v1/whoami       → WhoAmI, for whoever has any right
 *   GET    /v1/tokens       → TokenListAnswer
 *   POST   /v1/tokens       TokenRequest → NewToken, the only answer with the token itself
 *   DELETE /v1/tokens/:id   → 204; the token counts no more
 */
export interface TokenRequest {
  /** Whom or what it is for. */
  readonly name: string;
  readonly scope: Scope;
  /** null: all of them. */
  readonly namespaces: readonly string[] | null;
  readonly ttlMs: number;
}

/** A token without what it takes to use it. */
export type TokenStatus = Omit<Token, 'hash'>;

export interface NewToken extends TokenStatus {
  readonly token: string;
}

export interface TokenListAnswer {
  readonly tokens: readonly TokenStatus[];
}

/** `certificate` or `token`; `trusted`: this monitor has no credentials, and asks nobody who calls. */
export interface WhoAmI {
  readonly kind: 'certificate' | 'token' | 'trusted';
  /** As records name the caller. */
  readonly name: string;
  readonly cell: string;
  /** null: of a certificate. */
  readonly scope: Scope | null;
  /** null: all of them. */
  readonly namespaces: readonly string[] | null;
  /** null: of a certificate. */
  readonly endsAtMs: number | null;
}
