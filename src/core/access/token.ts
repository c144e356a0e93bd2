import type { Person, Scope } from './person.ts';
import { idInSecretText, secretText } from './secret-text.ts';

/** What the store keeps of a token: enough to recognize it, not to use it. */
export interface Token {
  readonly id: string;
  /** Whom or what it was made for. */
  readonly name: string;
  /** SHA-256 of the whole token. */
  readonly hash: string;
  readonly scope: Scope;
  /** null: all of them. */
  readonly namespaces: readonly string[] | null;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly endsAtMs: number;
}

/** Of one cell. */
export const TOKENS_MAX = 1_024;
export const TOKEN_NAMESPACES_MAX = 32;
export const TOKEN_TTL_MAX_MS = 366 * 24 * 3_600_000;

const HEAD = 'moorage';

/** `moorage.<id>.<secret>` */
export function tokenText(id: string, secret: Uint8Array): string {
  return secretText(HEAD, id, secret);
}

/** @returns the id in the token; null when it is none */
export function tokenIdOf(text: string): string | null {
  return idInSecretText(HEAD, text);
}

/** In a time that does not depend on where they differ. */
export function isSameHash(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let i = 0; i < one.length; i++) difference |= one.charCodeAt(i) ^ other.charCodeAt(i);
  return difference === 0;
}

export function personOf({ id, name, scope, namespaces, endsAtMs }: Token): Person {
  return { role: 'person', id, name, scope, namespaces, endsAtMs };
}
