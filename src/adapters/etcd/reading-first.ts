import type { Clock } from '../../ports/clock.ts';

/** Of the event loop, each with a look at all sockets: a message goes through several before its reader has it. */
const ROUNDS = 3;

/**
 * The clock, for timers that conclude something from silence. After a pause of the process its timers run before what came in
 * meanwhile is read, and an answer that is there would pass for missing: these wait until that is read.
 */
export function readingFirst(clock: Clock): Clock {
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    after: (delayMs, wake) => {
      let rounds = 0;
      const wait = (): void => {
        rounds += 1;
        cancel = clock.after(0, rounds < ROUNDS ? wait : wake);
      };
      let cancel = clock.after(delayMs, wait);
      return () => cancel();
    },
  };
}
