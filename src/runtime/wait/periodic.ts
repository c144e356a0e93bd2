import type { Clock } from '../../ports/clock.ts';

/**
 * Calls `work` again and again, `periodMs` after it last returned; never twice at once.
 * @returns stops it
 */
export function every(clock: Clock, periodMs: number, work: () => void): () => void {
  let cancel: () => void = () => undefined;
  let stopped = false;
  const plan = (): void => {
    cancel = clock.after(periodMs, () => {
      work();
      if (!stopped) plan();
    });
  };
  plan();
  return () => {
    stopped = true;
    cancel();
  };
}
