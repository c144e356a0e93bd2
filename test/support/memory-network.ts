import { assertRights } from '../../src/core/access/access.ts';
import { parseStrictJson } from '../../src/core/json/json.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type {
  HttpAnswer,
  HttpCall,
  HttpClient,
  HttpListener,
  HttpServer,
  HttpStream,
  ListenOptions,
  Route,
  RouteReply,
  RouteRequest,
} from '../../src/ports/http.ts';
import { HttpError } from '../../src/ports/http.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { PROBLEM_TYPE, problemOfError, problemOfStatus } from '../../src/adapters/http/problem-reply.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { matchRoute } from '../../src/adapters/http/route-match.ts';

/**
 * What becomes of one call: `pass`; `refuse`, as if no server listened; `drop-request`, lost before the peer saw it, and
 * `drop-reply`, lost after the peer did it. The caller cannot distinguish the last two.
 */
export type Fate = 'pass' | 'refuse' | 'drop-request' | 'drop-reply';

export interface MemoryNetworkOptions {
  /** Decides for each call. Its promise delays the call. */
  readonly fate?: (call: {
    readonly from: string;
    readonly to: string;
    readonly call: HttpCall;
  }) => Fate | Promise<Fate>;
  /** Without it calls have no deadline. */
  readonly clock?: Clock;
  readonly log?: Log;
}

type StreamCall = Parameters<HttpClient['stream']>[0];

/** Calls back when the idle time is over. @returns cancels; undefined without a clock */
type Silence = (tooLong: () => void) => (() => void) | undefined;

interface Listening {
  readonly routes: readonly Route[];
  readonly options: ListenOptions;
  readonly open: Set<AbortController>;
}

/** Servers and clients joined without sockets. Bodies travel as JSON text, so nothing is shared by reference. */
export class MemoryNetwork {
  readonly #options: MemoryNetworkOptions;
  readonly #listening = new Map<string, Listening>();
  #made = 0;

  constructor(options: MemoryNetworkOptions = {}) {
    this.#options = options;
  }

  server(): HttpServer {
    return { listen: (routes, options) => Promise.resolve(this.#listen(routes, options)) };
  }

  /** @param name of the caller, for `fate` */
  client(name = 'client'): HttpClient {
    return {
      call: (call) => this.#within(call, (signal) => this.#call(name, call, signal)),
      stream: (call) => this.#within(call, (signal) => this.#stream(name, call, signal)),
      close: () => Promise.resolve(),
    };
  }

  /** Ends all streams and calls that are open to `address`, as a broken connection does. */
  cut(address: string): void {
    for (const caller of this.#listening.get(address)?.open ?? []) caller.abort();
  }

  #listen(routes: readonly Route[], options: ListenOptions): HttpListener {
    this.#made += 1;
    assertRights([...routes, ...(options.channels ?? [])]);
    const address = `http://memory/${String(this.#made)}`;
    this.#listening.set(address, { routes, options, open: new Set() });
    const close = (): Promise<void> => {
      this.cut(address);
      this.#listening.delete(address);
      return Promise.resolve();
    };
    return { address, close };
  }

  async #within<T>(call: HttpCall, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (call.signal?.aborted === true) throw new HttpError('the caller gave up', { sent: false });
    const deadline = new AbortController();
    const stop = this.#options.clock?.after(call.timeoutMs, () => deadline.abort());
    const signals = call.signal === undefined ? [deadline.signal] : [deadline.signal, call.signal];
    const signal = AbortSignal.any(signals);
    try {
      return await orAbort(work(signal), signal, 'no answer in time');
    } finally {
      stop?.();
    }
  }

  async #call(from: string, call: HttpCall, signal: AbortSignal): Promise<HttpAnswer> {
    const { reply, caller } = await this.#exchange(from, call, signal);
    const text = reply.stream === undefined ? bodyText(reply) : await textOf(reply.stream, caller.signal);
    const json = reply.stream === undefined && (reply.contentType ?? 'json').includes('json');
    return {
      status: reply.status,
      headers: headersOf(reply),
      body: text === '' ? undefined : json ? JSON.parse(text) : text,
    };
  }

  async #stream(from: string, call: StreamCall, signal: AbortSignal): Promise<HttpStream> {
    const { reply, caller } = await this.#exchange(from, call, signal);
    const silence: Silence = (tooLong) => this.#options.clock?.after(call.idleTimeoutMs, tooLong);
    const chunks = reply.stream ?? oneChunk(bodyText(reply));
    return {
      status: reply.status,
      headers: headersOf(reply),
      chunks: piped(chunks, caller, call.signal, silence),
    };
  }

  async #exchange(from: string, call: HttpCall, signal: AbortSignal) {
    const address = /^http:\/\/memory\/\d+/.exec(call.url)?.[0] ?? '';
    const fate = (await this.#options.fate?.({ from, to: address, call })) ?? 'pass';
    const peer = this.#listening.get(address);
    if (peer === undefined || fate === 'refuse')
      throw new HttpError(`${address}: ECONNREFUSED`, { sent: false });
    if (fate === 'drop-request') throw new HttpError(`${address}: ECONNRESET`, { sent: true });
    const caller = new AbortController();
    peer.open.add(caller);
    const leave = (): void => caller.abort();
    signal.addEventListener('abort', leave, { once: true });
    const reply = await this.#handle(peer, call, address, caller.signal);
    if (reply.stream === undefined) peer.open.delete(caller);
    if (fate === 'drop-reply') {
      caller.abort();
      throw new HttpError(`${address}: ECONNRESET`, { sent: true });
    }
    return { reply, caller };
  }

  async #handle(peer: Listening, call: HttpCall, address: string, signal: AbortSignal): Promise<RouteReply> {
    const found = matchRoute(peer.routes, call.method, call.url.slice(address.length));
    if (found === null) return problemReply(problemOfStatus(404));
    try {
      const text = call.body === undefined ? '' : JSON.stringify(call.body);
      const bytesMax = found.route.bodyBytesMax ?? peer.options.bodyBytesMax;
      if (Buffer.byteLength(text) > bytesMax) return problemReply(problemOfStatus(413));
      const body = text === '' ? undefined : parseStrictJson(text);
      const request: RouteRequest = {
        ...found.values,
        headers: call.headers ?? {},
        body,
        peer: null,
        signal,
      };
      return await found.route.handle(request);
    } catch (error) {
      return problemReply(problemOfError(error, this.#options.log ?? silentLog, found.route.path));
    }
  }
}

function problemReply(problem: { readonly status: number }): RouteReply {
  return { status: problem.status, body: problem, contentType: PROBLEM_TYPE };
}

function headersOf(reply: RouteReply): Readonly<Record<string, string>> {
  const type =
    reply.contentType ?? (reply.stream === undefined ? 'application/json' : 'application/octet-stream');
  return { 'content-type': type, ...reply.headers };
}

function bodyText(reply: RouteReply): string {
  if (reply.body === undefined) return '';
  if (reply.contentType !== undefined && typeof reply.body === 'string') return reply.body;
  return JSON.stringify(reply.body);
}

async function textOf(chunks: AsyncIterable<Uint8Array | string>, signal: AbortSignal): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) {
    if (signal.aborted) throw new HttpError('the connection was cut', { sent: true });
    parts.push(Buffer.from(chunk));
  }
  return Buffer.concat(parts).toString('utf8');
}

async function* oneChunk(text: string): AsyncGenerator<string> {
  if (text !== '') yield text;
}

/** The peer's chunks, until they end or the connection is cut from either side. */
async function* piped(
  chunks: AsyncIterable<Uint8Array | string>,
  caller: AbortController,
  leaves: AbortSignal | undefined,
  silence: Silence,
): AsyncGenerator<Uint8Array> {
  const leave = (): void => caller.abort();
  leaves?.addEventListener('abort', leave, { once: true });
  const source = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      const stop = silence(leave);
      const next = await orAbort(source.next(), caller.signal, 'the connection was cut').finally(stop);
      if (next.done === true) return;
      yield typeof next.value === 'string' ? Buffer.from(next.value) : next.value;
    }
  } catch (cause) {
    throw cause instanceof HttpError ? cause : new HttpError('the connection was cut', { sent: true, cause });
  } finally {
    leaves?.removeEventListener('abort', leave);
    caller.abort();
  }
}

function orAbort<T>(work: Promise<T>, signal: AbortSignal, message: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(new HttpError(message, { sent: true }));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
