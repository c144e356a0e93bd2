import { HttpError } from '../../ports/http.ts';
import { onAbort } from '../../ports/on-abort.ts';

/**
 * The deadline of one call and the caller's signal, joined into one signal. `rearm` sets a new deadline (a stream's
 * silence), `stop` ends both. Not `AbortSignal.any`: on Node 20 it leaves something behind on a long-lived caller's signal
 * with each call, and its deadline cannot be moved.
 */
export interface CallTimer {
  readonly signal: AbortSignal;
  rearm(delayMs: number, message: string): void;
  stop(): void;
}

export function callTimer(timeoutMs: number, callerSignal: AbortSignal | undefined): CallTimer {
  const joined = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let forget: (() => void) | undefined;
  const rearm = (delayMs: number, message: string): void => {
    clearTimeout(timer);
    timer = setTimeout(() => joined.abort(new HttpError(message, { sent: true })), delayMs);
  };
  const abandon = (sent: boolean): void => joined.abort(new HttpError('the caller gave up', { sent }));
  if (callerSignal?.aborted === true) abandon(false);
  else if (callerSignal !== undefined) forget = onAbort(callerSignal, () => abandon(true));
  rearm(timeoutMs, `no answer within ${String(timeoutMs)} ms`);
  return {
    signal: joined.signal,
    rearm,
    stop: () => {
      clearTimeout(timer);
      forget?.();
    },
  };
}
