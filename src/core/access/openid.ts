import { isId } from '../cell/ids.ts';
import type { Person, Scope } from './person.ts';
import { includesScope, SCOPES } from './person.ts';

/** Whose tokens count beside the cell's own, and what of them says who may do what. */
export interface OpenIdProvider {
  readonly name: string;
  /** Exactly as tokens name it. */
  readonly issuer: string;
  /** Exactly as tokens name it: they are made for this cell, and not for something else that trusts the issuer. */
  readonly audience: string;
  /** What holds the namespaces: a name, or a path with dots. */
  readonly namespacesClaim: string;
  /** What holds the scope; absent: everybody reads. */
  readonly scopeClaim?: string;
  /** Authorities of its server, as PEM; absent: those that the machine trusts. */
  readonly authorities?: string;
  readonly setBy: string;
  readonly setAtMs: number;
}

/** What a monitor knows of the keys of a provider. */
export interface ProviderKeysState {
  /** null: they were never read. */
  readonly readAtMs: number | null;
  readonly count: number;
  /** Why the last try failed; null: it did not. */
  readonly fault: string | null;
}

/** What a provider says of somebody, when its signature counts. */
export type Claims = Readonly<Record<string, unknown>>;

/** Of one cell. */
export const PROVIDERS_MAX = 16;
export const ISSUER_CHARS_MAX = 128;
export const PROVIDER_AUTHORITIES_CHARS_MAX = 16 * 1024;
/** Of one token; other names in the claim, such as those of groups for something else, are not counted. */
const NAMESPACES_MAX = 256;
/** As records and delegations hold it. */
const NAME_CHARS_MAX = 256;

/** In the claim of namespaces: all of them. */
const ALL = '*';
/** In front of a scope, where the claim is of several services. */
const SCOPE_HEAD = 'moorage:';

const SECURE = /^https:\/\/[^\s/?#@]+(?:[/?][^\s#]*)?$/;
/** What stays on this machine needs no TLS. */
const LOCAL = /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?(?:[/?][^\s#]*)?$/;

export function isIssuer(text: string): boolean {
  return text.length <= ISSUER_CHARS_MAX && !text.includes('?') && (SECURE.test(text) || LOCAL.test(text));
}

/** Whether keys may be read there: in the clear only on this machine, and only when the issuer itself is there. */
export function mayHoldKeys(url: string, issuer: string): boolean {
  return SECURE.test(url) || (LOCAL.test(issuer) && LOCAL.test(url));
}

/** Three parts, the first of which begins as JSON does. Its signature says whether it counts. */
export function isJsonWebToken(text: string): boolean {
  return /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/.test(text);
}

/**
 * Who it is of whom the provider says this. A scope for the cell as a whole goes with all namespaces only, as of the cell's own
 * tokens; of single ones, it is `submit`.
 * @param endsAtMs of the token
 * @returns why it is nobody here, else
 */
export function personOfClaims(
  { issuer, namespacesClaim, scopeClaim }: OpenIdProvider,
  claims: Claims,
  endsAtMs: number,
): Person | string {
  const { sub, name } = claims;
  const subject = typeof sub === 'string' ? sub : '';
  const whole = `oidc:${issuer}#${subject}`;
  if (!/^[!-~]+$/.test(subject) || whole.length > NAME_CHARS_MAX)
    return `its sub is not of 1 to ${String(NAME_CHARS_MAX - whole.length + subject.length)} plain characters`;
  const words = wordsOf(claimOf(claims, namespacesClaim));
  const isOfAll = words.includes(ALL);
  const named = [...new Set(words.filter(isId))];
  if (!isOfAll && named.length === 0) return `its claim ${namespacesClaim} names no namespace`;
  if (named.length > NAMESPACES_MAX)
    return `its claim ${namespacesClaim} names more than ${String(NAMESPACES_MAX)} namespaces`;
  const asked = scopeClaim === undefined ? 'read' : scopeOf(wordsOf(claimOf(claims, scopeClaim)));
  return {
    role: 'person',
    ...{ id: subject, issuer, name: displayName(name) ?? subject },
    scope: isOfAll || !includesScope(asked, 'submit') ? asked : 'submit',
    namespaces: isOfAll ? null : named,
    endsAtMs,
  };
}

/** The most of those that it names. */
function scopeOf(words: readonly string[]): Scope {
  const named = SCOPES.filter((scope) => words.includes(scope) || words.includes(SCOPE_HEAD + scope));
  return named.at(-1) ?? 'read';
}

/** A claim of exactly this name, which may have dots, comes before a path. */
function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Claims)[part];
  }
  return value;
}

/** A list, or a text with spaces or commas between. */
function wordsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.split(/[\s,]+/).filter((word) => word !== '');
  return Array.isArray(value) ? value.filter((word): word is string => typeof word === 'string') : [];
}

/** Shown beside the subject, never instead of it. */
function displayName(value: unknown): string | null {
  return typeof value === 'string' && /^[\p{L}\p{N} .@_-]{1,64}$/u.test(value) ? value : null;
}
