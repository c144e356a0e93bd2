import { canonicalJson } from '../json/canonical-json.ts';

/** A secret as the store holds it: sealed to the key that the cell's hosts have, and nobody else. */
export interface Secret {
  readonly namespace: string;
  readonly name: string;
  readonly sealed: string;
  readonly setBy: string;
  readonly setAtMs: number;
}

/** What stands before the name of a cell's host key where certificates have an identity: it is the key of no process. */
const HOST_KEY = 'hosts/secrets';

/** The value is text: other bytes are written as base64, or the like, by whoever reads them. */
export const SECRET_BYTES_MAX = 8 * 1024;
/** As text, of a value at its longest. */
export const SEALED_CHARS_MAX = 12 * 1024;
/** Of one namespace. */
export const SECRETS_MAX = 256;
/** Of one group: they are sent with the order to start it. */
export const GROUP_SECRETS_MAX = 4;

/** A name in a certificate, which is no identity. */
export function hostKeyUri(cell: string): string {
  return `spiffe://${cell}/${HOST_KEY}`;
}

/** What a sealed value is bound to: it opens as no other secret's. */
export function secretLabel(cell: string, namespace: string, name: string): string {
  return canonicalJson(['moorage-secret', cell, namespace, name]);
}

interface Using {
  readonly secrets?: readonly string[];
}

/** The secrets of a group's tasks, each once. */
export function secretsOf(tasks: Readonly<Record<string, Using>>): readonly string[] {
  return [...new Set(Object.values(tasks).flatMap(({ secrets = [] }) => secrets))];
}
