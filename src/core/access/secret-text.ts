import { isId } from '../cell/ids.ts';

/**
 * What somebody shows to be let in: `<head>.<id>.<secret>`. The head tells what kind of text it is wherever it turns up, the id
 * names the record in the store, which keeps a hash of the whole text.
 */

/** 256 bits: nobody guesses one, so that a plain hash of it is enough. */
export const SECRET_BYTES = 32;
const SECRET = /^[0-9a-f]{64}$/;

export function secretText(head: string, id: string, secret: Uint8Array): string {
  const hex = Array.from(secret, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${head}.${id}.${hex}`;
}

/** @returns the id in a text of this kind; null when it is none */
export function idInSecretText(head: string, text: string): string | null {
  const [found, id = '', secret = '', ...more] = text.split('.');
  return found === head && isId(id) && SECRET.test(secret) && more.length === 0 ? id : null;
}
