import { randomBytes } from 'node:crypto';
import type { Random } from '../../ports/random.ts';

/** Chance from the machine: ids from its secure source, sampling from the fast one. */
export const systemRandom: Random = {
  fraction: () => Math.random(),
  below: (bound) => Math.floor(Math.random() * bound),
  bytes: (count) => randomBytes(count),
};
