import type { Clock } from '../../src/ports/clock.ts';
import type { Random } from '../../src/ports/random.ts';

/** A browser's time and chance, as ports: for what the page shares with other clients, such as the session of a terminal. */
export const browserClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, wake) => {
    const timer = setTimeout(wake, delayMs);
    return () => clearTimeout(timer);
  },
};

export const browserRandom: Random = {
  fraction: () => Math.random(),
  below: (bound) => Math.floor(Math.random() * bound),
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
};
