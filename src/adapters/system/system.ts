/**
 * The machine's own time and randomness. Beside them `digest.ts` has digests, `names.ts` resolves host names, `probes.ts` asks
 * services whether they answer, `fail-points.ts` is what a real process does at a fail point, `code-cache.ts` loads the build
 * with what V8 has compiled of it, `package-files.ts` finds the files of this package, `page-files.ts` reads those of the page,
 * and `open-files.ts` divides the files that a process may have open.
 */
import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';

/** Node's timers take a longer delay for 1 ms, so longer ones are waited for in parts. */
const DELAY_MAX_MS = 0x7fff_ffff;

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, wake) {
    let timer: NodeJS.Timeout;
    const wait = (restMs: number): void => {
      const partMs = Math.min(Math.max(0, restMs), DELAY_MAX_MS);
      timer = setTimeout(() => (restMs > DELAY_MAX_MS ? wait(restMs - partMs) : wake()), partMs);
    };
    wait(delayMs);
    return () => clearTimeout(timer);
  },
  untilTickMs(periodMs) {
    const nowMs = performance.now();
    return Math.ceil(nowMs / periodMs + 1 / 2) * periodMs - nowMs;
  },
};

/** A draw from the secure source costs 20 µs however small it is, and ids are made by the ten thousand. */
const POOL_BYTES = 16 * 1024;
let pool: Uint8Array = new Uint8Array(0);
let used = 0;

/** Ids come from the machine's secure source, samples from the fast one. */
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
