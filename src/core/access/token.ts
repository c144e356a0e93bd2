import { isId } from '../cell/ids.ts';
import type { Person, Scope } from './person.ts';

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
/** 256 bits: nobody guesses one, so that a plain hash of it is enough. */
export const TOKEN_SECRET_BYTES = 32;

/** By which a token is known as one wherever it turns up. */
const WORD = 'moorage';
const SECRET = /^[0-9a-f]{64}$/;

/** `moorage.<id>.<secret>` */
export function tokenText(id: string, secret: Uint8Array): string {
  const hex = Array.from(secret, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${WORD}.${id}.${hex}`;
}

/** @returns the id in the token; null when it is none */
export function tokenIdOf(text: string): string | null {
  const [word, id = '', secret = '', ...more] = text.split('.');
  return word === WORD && isId(id) && SECRET.test(secret) && more.length === 0 ? id : null;
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
