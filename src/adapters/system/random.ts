import { randomBytes } from 'node:crypto';
import type { Random } from '../../ports/random.ts';

/** A draw from the secure source costs 20 µs however small it is, and ids are made by the ten thousand. */
const POOL_BYTES = 16 * 1024;
let pool: Uint8Array = new Uint8Array(0);
let used = 0;

/** Chance from the machine: ids from its secure source, sampling from the fast one. */
export const systemRandom: Random = {
  fraction: () => Math.random(),
  below: (bound) => Math.floor(Math.random() * bound),
  bytes: (count) => {
    if (count > POOL_BYTES) return randomBytes(count);
    if (used + count > pool.length) {
      pool = randomBytes(POOL_BYTES);
      used = 0;
    }
    used += count;
    return pool.subarray(used - count, used);
  },
};
