import type { HttpAnswer, HttpCall, HttpClient, HttpStream } from '../ports/http.ts';
import { HttpError } from '../ports/http.ts';
import { MIN_REVISION_HEADER, REVISION_HEADER } from '../wire/api/monitor-api.ts';
import { ProblemError } from '../wire/api/problem.ts';
import { isSuccess, problemErrorOfStream } from './clients.ts';

export interface MonitorCall {
  readonly method: HttpCall['method'];
  /** With its query. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** A second delivery changes nothing. Otherwise a call that may have arrived is not repeated. */
  readonly repeatable: boolean;
}

/** A stream, and the monitor that it comes from. */
export interface MonitorStream extends HttpStream {
  readonly from: string;
}

export interface MonitorAddresses {
  /** Base URLs without a slash at the end, at least one. */
  readonly urls: readonly string[];
  /** The option or variable that named them, for messages: `--address`. */
  readonly from: string;
}

/** The monitor cannot answer now, or was too slow to read the request: another one may answer. */
const BUSY: ReadonlySet<number> = new Set([408, 503]);

/** Asks one monitor after the other for each call, beginning with the one that answered last. */
export class MonitorFailover {
  readonly #http: HttpClient;
  readonly #addresses: MonitorAddresses;
  #preferred = 0;
  /** The newest revision of an answer: no later answer may be older, from whichever monitor. */
  #revision = 0;

  constructor(http: HttpClient, addresses: MonitorAddresses) {
    if (addresses.urls.length === 0) throw new Error('no monitor to ask');
    this.#http = http;
    this.#addresses = addresses;
  }

  /** Monitors to ask. */
  get size(): number {
    return this.#addresses.urls.length;
  }

  /** Returns an answer 503 or 408 only when no other monitor has a better one. @throws HttpError */
  call(call: MonitorCall): Promise<HttpAnswer> {
    return this.#tryAll(call, async (url) => {
      const answer = await this.#http.call({ ...this.#requestOf(call), url: url + call.path });
      this.#learn(answer);
      return { value: answer, isBusy: BUSY.has(answer.status) && call.repeatable };
    });
  }

  /** @throws HttpError; ProblemError when the answer is anything but 2xx */
  async stream(call: MonitorCall & { readonly idleTimeoutMs: number }): Promise<MonitorStream> {
    const { idleTimeoutMs } = call;
    const opened = await this.#tryAll<MonitorStream | ProblemError>(call, async (url) => {
      const stream = await this.#http.stream({
        ...this.#requestOf(call),
        ...{ idleTimeoutMs, url: url + call.path },
      });
      if (isSuccess(stream)) return { value: { ...stream, from: url }, isBusy: false };
      return { value: await problemErrorOfStream(stream), isBusy: BUSY.has(stream.status) };
    });
    if (opened instanceof ProblemError) throw opened;
    return opened;
  }

  #requestOf(call: MonitorCall): Omit<HttpCall, 'url'> {
    const { method, body, timeoutMs, signal } = call;
    const isRead = method === 'GET' && this.#revision > 0;
    const headers = { ...call.headers, ...(isRead ? { [MIN_REVISION_HEADER]: String(this.#revision) } : {}) };
    return {
      ...{ method, timeoutMs, to: 'monitor' as const },
      ...(body === undefined ? {} : { body }),
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      ...(signal === undefined ? {} : { signal }),
    };
  }

  #learn(answer: HttpAnswer): void {
    const revision = Number(answer.headers[REVISION_HEADER] ?? 0);
    if (isSuccess(answer) && revision > this.#revision) this.#revision = revision;
  }

  /** Calls no longer begin at this monitor. Several calls may find at once that it is gone: only the first one moves. */
  moveOnFrom(url: string): void {
    const { urls } = this.#addresses;
    if (urls[this.#preferred] === url) this.#preferred = (this.#preferred + 1) % urls.length;
  }

  async #tryAll<T>(call: MonitorCall, ask: (url: string) => Promise<Asked<T>>): Promise<T> {
    const { urls } = this.#addresses;
    const first = this.#preferred;
    let busy: { readonly value: T } | null = null;
    let failure: HttpError | null = null;
    for (let tried = 0; tried < urls.length; tried++) {
      const url = urls[(first + tried) % urls.length] ?? '';
      try {
        const { value, isBusy } = await ask(url);
        if (!isBusy) return value;
        busy = { value };
      } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        if (error.sent && (!call.repeatable || call.signal?.aborted === true)) throw this.#explained(error);
        failure = worse(failure, error);
      }
      this.moveOnFrom(url);
    }
    if (busy !== null) return busy.value;
    throw this.#explained(failure ?? new HttpError('no monitor answered', { sent: false }));
  }

  #explained(error: HttpError): HttpError {
    const { urls, from } = this.#addresses;
    const who =
      urls.length === 1 ? `the monitor at ${urls[0] ?? ''}` : `any of ${String(urls.length)} monitors`;
    const what = error.sent ? `no answer from ${who}` : `cannot reach ${who}`;
    // With one address it was named already.
    const why = urls.length === 1 ? error.message.replace(`${urls[0] ?? ''}: `, '') : error.message;
    return new HttpError(`${what} (from ${from}): ${why}`, { sent: error.sent, cause: error });
  }
}

interface Asked<T> {
  readonly value: T;
  /** Another monitor may have a better answer. */
  readonly isBusy: boolean;
}

/** The call may have been done as soon as one monitor may have received it. */
function worse(known: HttpError | null, next: HttpError): HttpError {
  return known?.sent === true && !next.sent ? known : next;
}
