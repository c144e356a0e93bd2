import type { HttpAnswer, HttpCall, HttpClient, HttpStream } from '../../src/ports/http.ts';
import { HttpError } from '../../src/ports/http.ts';

export interface FetchClientOptions {
  /** null: none, for a cell without credentials. */
  readonly token: () => string | null;
  /** A server answered, or did not. */
  readonly onOutcome: (origin: string, answered: boolean) => void;
}

/** Calls of a browser. Certificates are the browser's to check, and what was sent it does not tell. */
export function fetchClient(options: FetchClientOptions): HttpClient {
  const { token, onOutcome } = options;
  const ask = async (call: HttpCall, signal: AbortSignal): Promise<Response> => {
    const shown = token();
    const { origin } = new URL(call.url);
    try {
      const answer = await fetch(call.url, {
        ...{ method: call.method, signal, cache: 'no-store', credentials: 'omit', redirect: 'error' },
        ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
        headers: {
          ...call.headers,
          ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(shown === null ? {} : { authorization: `Bearer ${shown}` }),
        },
      });
      onOutcome(origin, true);
      return answer;
    } catch (cause) {
      if (call.signal?.aborted !== true) onOutcome(origin, false);
      throw new HttpError(`${origin} does not answer`, { sent: true, cause });
    }
  };
  return {
    async call(call: HttpCall): Promise<HttpAnswer> {
      const limit = limited(call.timeoutMs, call.signal);
      try {
        const answer = await ask(call, limit.signal);
        const text = await answer.text().catch((cause: unknown) => {
          throw new HttpError('the answer broke off', { sent: true, cause });
        });
        return { status: answer.status, headers: Object.fromEntries(answer.headers), body: jsonOf(text) };
      } finally {
        limit.end();
      }
    },
    async stream(call): Promise<HttpStream> {
      const limit = limited(call.timeoutMs, call.signal);
      const answer = await ask(call, limit.signal).catch((error: unknown) => {
        limit.end();
        throw error;
      });
      const chunks = chunksOf(answer, limit, call.idleTimeoutMs, () =>
        onOutcome(new URL(call.url).origin, false),
      );
      return { status: answer.status, headers: Object.fromEntries(answer.headers), chunks };
    },
    close: async () => undefined,
  };
}

function jsonOf(text: string): unknown {
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return text;
  }
}

interface Limit {
  readonly signal: AbortSignal;
  /** From now on. */
  readonly extend: (ms: number) => void;
  readonly end: () => void;
}

function limited(ms: number, signal: AbortSignal | undefined): Limit {
  const limit = new AbortController();
  const abort = (): void => limit.abort();
  let timer = setTimeout(abort, ms);
  signal?.addEventListener('abort', abort);
  if (signal?.aborted === true) abort();
  const end = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  };
  const extend = (nextMs: number): void => {
    clearTimeout(timer);
    timer = setTimeout(abort, nextMs);
  };
  return { signal: limit.signal, extend, end };
}

async function* chunksOf(
  answer: Response,
  limit: Limit,
  idleMs: number,
  onBreak: () => void,
): AsyncGenerator<Uint8Array> {
  const reader = answer.body?.getReader();
  let isOver = false;
  try {
    limit.extend(idleMs);
    for (;;) {
      const part = await reader?.read();
      limit.extend(idleMs);
      if (part === undefined || part.done) break;
      yield part.value;
    }
    isOver = true;
  } catch (cause) {
    isOver = true;
    if (!limit.signal.aborted) onBreak();
    throw new HttpError('the stream broke off', { sent: true, cause });
  } finally {
    limit.end();
    // Who stops reading early wants no more of it.
    if (!isOver) await reader?.cancel().catch(() => undefined);
  }
}
