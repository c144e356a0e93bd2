/** What a token lets its holder do. Each scope has the rights of those before it. */
export const SCOPES = ['read', 'submit', 'operate', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** Who calls with a token instead of a certificate. */
export interface Person {
  /** Distinguishes a person from the roles of certificates. */
  readonly role: 'person';
  /** Of the token; with an `issuer`, its subject. */
  readonly id: string;
  /** The OpenID provider that made the token; absent: this cell did. */
  readonly issuer?: string;
  /** Whom the token was made for. */
  readonly name: string;
  readonly scope: Scope;
  /** null: all of them. */
  readonly namespaces: readonly string[] | null;
  readonly endsAtMs: number;
}

/** These are about the cell as a whole, so that their tokens are of all namespaces. */
export function isOfCell(scope: Scope): boolean {
  return includesScope(scope, 'operate');
}

export function includesScope(held: Scope, needed: Scope): boolean {
  return SCOPES.indexOf(held) >= SCOPES.indexOf(needed);
}
