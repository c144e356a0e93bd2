import type { Clock } from '../../ports/clock.ts';

/**
 * The clock, for timers that conclude something from silence. After a pause of the process its timers run before what came in
 * meanwhile is read, and an answer that is there would pass for missing: these wait until that is read.
 */
export function readingFirst(clock: Clock): Clock {
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    after: (delayMs, wake) => {
      let cancel = clock.after(delayMs, () => (cancel = clock.after(0, wake)));
      return () => cancel();
    },
  };
}
