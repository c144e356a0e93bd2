import { performance } from 'node:perf_hooks';
import type { Clock } from '../../ports/clock.ts';

/** Node's timers take a longer delay for 1 ms, so longer ones are waited for in parts. */
const DELAY_MAX_MS = 0x7fff_ffff;

/** The machine's own time. */
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
};
