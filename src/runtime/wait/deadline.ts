import type { Clock } from '../../ports/clock.ts';

/** A wait that ends by itself: its signal is aborted after `ms`, or when the caller went away. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Must be called when the wait is over. */
  done(): void;
}

export function withDeadline(clock: Clock, ms: number, caller: AbortSignal): Deadline {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  if (caller.aborted) abort();
  caller.addEventListener('abort', abort, { once: true });
  const cancel = clock.after(ms, abort);
  return {
    signal: controller.signal,
    done: () => {
      cancel();
      caller.removeEventListener('abort', abort);
    },
  };
}
