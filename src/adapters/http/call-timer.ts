import { HttpError } from '../../ports/http.ts';
import { onAbort } from '../../ports/on-abort.ts';

/**
 * The deadline of one call and the caller's own signal, joined into one signal. `rearm` sets a new deadline (a stream's
 * silence), `stop` ends both.
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
  const onCallerAbort = (): void => joined.abort(new HttpError('the caller gave up', { sent: true }));
  const rearm = (delayMs: number, message: string): void => {
    clearTimeout(timer);
    timer = setTimeout(() => joined.abort(new HttpError(message, { sent: true })), delayMs);
  };
  if (callerSignal?.aborted === true) joined.abort(new HttpError('the caller gave up', { sent: false }));
  else if (callerSignal !== undefined) forget = onAbort(callerSignal, onCallerAbort);
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
