import type { Clock } from '../../ports/clock.ts';
import { onAbort } from '../../ports/on-abort.ts';

/** Resolves after `delayMs`, or at once when the signal is or becomes aborted. Never rejects: callers look at the signal. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = (): void => {
      cancel();
      forget?.();
      resolve();
    };
    const cancel = clock.after(delayMs, finish);
    const forget = signal === undefined ? undefined : onAbort(signal, finish);
  });
}
