import { sha256Hex } from '../../src/adapters/system/digest.ts';
import type { Digest } from '../../src/ports/crypto.ts';

/** More texts than a run digests; then all are forgotten. */
const TEXTS_MAX = 2_000;

const known = new Map<string, string>();

/** Digests each text once: a scheduler, an arbiter, a host and a checker digest the same ones. */
export const digest: Digest = (text) => {
  const before = known.get(text);
  if (before !== undefined) return before;
  if (known.size >= TEXTS_MAX) known.clear();
  const made = sha256Hex(text);
  known.set(text, made);
  return made;
};
