/**
 * Waiting, on the clock port: the simulator runs roles on virtual time, so that neither Node's timers nor
 * `AbortSignal.timeout` may be used.
 *
 * - `wait.ts`: waits for a time (`sleep`), for signals (`untilAborted`), with a deadline (`withDeadline`), and calls work
 *   periodically (`every`, `atTick`)
 * - `backoff.ts`: delays between retries; `outage.ts`: what the log says of them
 * - `retry.ts`: repeats a call of the store until it is answered
 * - `semaphore.ts`: so much at once, the rest in order; `keyed-mutex.ts`: one at a time for each key
 * - `periodic-task.ts`: again and again, one run at a time
 * - `waker.ts`: a loop sleeps until it is woken; `time-slice.ts`: long work leaves others their turn
 * - `abandon.ts`: ends a role from below
 */
import type { Clock } from '../../ports/clock.ts';
import { onAbort } from '../../ports/on-abort.ts';

/** Resolves after `delayMs`, or at once when the signal is or becomes aborted. Never rejects: callers check the signal. */
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

/** Resolves with the first of the signals. Signals that live longer keep no listener of it. */
export function untilAborted(...signals: readonly AbortSignal[]): Promise<void> {
  if (signals.some((signal) => signal.aborted)) return Promise.resolve();
  return new Promise((resolve) => {
    const forgets = signals.map((signal) =>
      onAbort(signal, () => {
        for (const forget of forgets) forget();
        resolve();
      }),
    );
  });
}

export interface Deadline {
  /** Aborted after the time, with the caller's signal, or when the work is done. */
  readonly signal: AbortSignal;
  /** Stops the timer, and what still waits for the time; to be called when the work is done. */
  done(): void;
}

/** Not `AbortSignal.any`: Node 20 keeps a joined signal that has listeners for ever, unless one of its sources is aborted. */
export function withDeadline(clock: Clock, ms: number, caller: AbortSignal): Deadline {
  const joined = new AbortController();
  const cancel = clock.after(ms, () => joined.abort());
  const giveUp = (): void => joined.abort(caller.reason);
  let forget = (): void => undefined;
  if (caller.aborted) giveUp();
  else forget = onAbort(caller, giveUp);
  return {
    signal: joined.signal,
    done: () => {
      cancel();
      forget();
      joined.abort();
    },
  };
}

/** Calls `work` once after about the period, with what else the process does periodically. @returns cancels */
export function atTick(clock: Clock, periodMs: number, work: () => void): () => void {
  return clock.after(clock.untilTickMs?.(periodMs) ?? periodMs, work);
}

/**
 * Calls `work` again and again, about `periodMs` after it last returned; never twice at once.
 * @returns stops it
 */
export function every(clock: Clock, periodMs: number, work: () => void): () => void {
  let cancel: () => void = () => undefined;
  let stopped = false;
  const plan = (): void => {
    cancel = atTick(clock, periodMs, () => {
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
