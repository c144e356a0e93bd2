import type { IdentityRole } from '../../core/access/identity.ts';
import type { HttpAnswer, HttpCall, HttpClient, HttpStream } from '../../ports/http.ts';
import { HttpError } from '../../ports/http.ts';
import { httpErrorOf, isCut } from './call-faults.ts';
import type { CallTimer } from './call-timer.ts';
import { callTimer } from './call-timer.ts';

/** One request, as undici and the global fetch take it. */
export interface Outgoing {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string | null;
  readonly signal: AbortSignal;
  readonly to: IdentityRole | undefined;
}

export interface Incoming {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Sends one request. */
export type Send = (url: string, request: Outgoing) => Promise<Incoming>;

/** A larger answer is cut off. A listing of a whole cell is some tens of MiB; streams are not counted. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

/** The rules of the HttpClient port, over any way to send one request. */
export function clientOver(send: Send, close: () => Promise<void>): HttpClient {
  async function begin(call: HttpCall, timer: CallTimer): Promise<Incoming> {
    const headers: Record<string, string> = { ...call.headers };
    if (call.body !== undefined) headers['content-type'] = 'application/json';
    const body = call.body === undefined ? null : JSON.stringify(call.body);
    timer.signal.throwIfAborted();
    const outgoing = { method: call.method, headers, body, signal: timer.signal, to: call.to };
    try {
      return await send(call.url, outgoing);
    } catch (error) {
      // A server closes a kept connection when it likes, also while a call is on its way. A read is sent once more.
      if (call.method !== 'GET' || !isCut(error) || timer.signal.aborted) throw error;
      return await send(call.url, outgoing);
    }
  }

  return {
    async call(call): Promise<HttpAnswer> {
      const timer = callTimer(call.timeoutMs, call.signal);
      let began = false;
      try {
        const incoming = await begin(call, timer);
        began = true;
        return await answerIn(incoming);
      } catch (error) {
        throw httpErrorOf(faultOf(error, timer), call.url, began);
      } finally {
        timer.stop();
      }
    },
    async stream(call): Promise<HttpStream> {
      const timer = callTimer(call.timeoutMs, call.signal);
      try {
        const incoming = await begin(call, timer);
        // From here the deadline limits the silence between chunks; it also ends a stream without a reader.
        timer.rearm(call.idleTimeoutMs, silent(call.idleTimeoutMs));
        const chunks = watched(incoming.chunks, call, timer);
        return { status: incoming.status, headers: incoming.headers, chunks };
      } catch (error) {
        timer.stop();
        throw httpErrorOf(faultOf(error, timer), call.url, false);
      }
    },
    close,
  };
}

async function* watched(
  chunks: AsyncIterable<Uint8Array>,
  call: HttpCall & { readonly idleTimeoutMs: number },
  timer: CallTimer,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of chunks) {
      yield chunk;
      timer.rearm(call.idleTimeoutMs, silent(call.idleTimeoutMs));
    }
  } catch (error) {
    throw httpErrorOf(faultOf(error, timer), call.url, true);
  } finally {
    timer.stop();
  }
}

function silent(idleTimeoutMs: number): string {
  return `silent for ${String(idleTimeoutMs)} ms`;
}

/** Libraries wrap the reason of an abort in errors of their own; the signal's reason is the deadline or the caller. */
export function faultOf(error: unknown, timer: Pick<CallTimer, 'signal'>): unknown {
  return timer.signal.aborted ? timer.signal.reason : error;
}

/** Reads all of it. @throws HttpError, and whatever the chunks and JSON throw */
export async function answerIn({ status, headers, chunks }: Incoming): Promise<HttpAnswer> {
  return { status, headers, body: parsed(await readAll(chunks), headers) };
}

async function readAll(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX)
      throw new HttpError(`an answer of more than ${String(ANSWER_BYTES_MAX)} bytes`, { sent: true });
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString('utf8');
}

function parsed(text: string, headers: Readonly<Record<string, string>>): unknown {
  if (text === '') return undefined;
  if (!/^application\/(?:[\w.-]+\+)?json\b/.test(headers['content-type'] ?? '')) return text;
  return JSON.parse(text);
}
