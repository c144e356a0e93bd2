import { bodyOf, problemErrorOf } from '../src/clients/problem.ts';
import type { HttpAnswer, HttpCall, HttpClient, HttpStream } from '../src/ports/http.ts';
import { HttpError } from '../src/ports/http.ts';
import { ProblemError } from '../src/wire/problem.ts';
import type { MonitorAddresses } from './cell-address.ts';
import { CliError, EXIT } from './exit.ts';

export interface Request {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** A stream, and the monitor that it comes from. */
export interface OpenStream extends HttpStream {
  readonly from: string;
}

const TIMEOUT_MS = 15_000;

/**
 * The monitors' API with failover: whichever monitor answered last is asked first. A call that may have been received is
 * tried at another monitor only when doing it twice is the same as once: reads, and writes that say so.
 */
export class CellApi {
  readonly #http: HttpClient;
  readonly #addresses: MonitorAddresses;
  #preferred = 0;

  constructor(http: HttpClient, addresses: MonitorAddresses) {
    this.#http = http;
    this.#addresses = addresses;
  }

  get addresses(): MonitorAddresses {
    return this.#addresses;
  }

  async get<T>(path: string, request: Request = {}): Promise<T> {
    return bodyOf<T>(await this.answer('GET', path, request, true));
  }

  /** `repeatable`: a second delivery changes nothing (an idempotency key, a state that is set). */
  async post<T>(path: string, request: Request, repeatable: boolean): Promise<T> {
    return bodyOf<T>(await this.answer('POST', path, request, repeatable));
  }

  /** @throws CliError when no monitor answers */
  async answer(
    method: HttpCall['method'],
    path: string,
    request: Request,
    repeatable: boolean,
  ): Promise<HttpAnswer> {
    return await this.#failover(repeatable, async (base) => {
      const answer = await this.#http.call({ timeoutMs: TIMEOUT_MS, ...request, method, url: base + path });
      // A monitor that is stopping or not ready says 503: another one may do better.
      if (answer.status === 503 && repeatable && this.#addresses.urls.length > 1)
        throw problemErrorOf(answer);
      return answer;
    });
  }

  /** @throws CliError, ProblemError */
  async stream(path: string, request: Request & { readonly idleTimeoutMs: number }): Promise<OpenStream> {
    return await this.#failover(true, async (base) => {
      const call = { timeoutMs: TIMEOUT_MS, ...request, method: 'GET', url: base + path } as const;
      const stream = await this.#http.stream(call);
      if (stream.status >= 200 && stream.status < 300) return { ...stream, from: base };
      throw problemErrorOf({ ...stream, body: await jsonOf(stream.chunks) });
    });
  }

  /** Calls no longer begin at this monitor: a stream of it broke. Several may find that out at once. */
  moveOnFrom(base: string): void {
    const { urls } = this.#addresses;
    if (urls[this.#preferred] === base) this.#preferred = (this.#preferred + 1) % urls.length;
  }

  async #failover<T>(repeatable: boolean, call: (base: string) => Promise<T>): Promise<T> {
    const { urls } = this.#addresses;
    const first = this.#preferred;
    let last: unknown;
    for (let tried = 0; tried < urls.length; tried++) {
      const base = urls[(first + tried) % urls.length] ?? '';
      try {
        return await call(base);
      } catch (error) {
        if (!worthAnother(error, repeatable)) throw this.#explained(error);
        last = error;
        this.moveOnFrom(base);
      }
    }
    throw this.#explained(last);
  }

  #explained(error: unknown): unknown {
    if (!(error instanceof HttpError)) return error;
    const { urls, from } = this.#addresses;
    const who =
      urls.length === 1 ? `the monitor at ${urls[0] ?? ''}` : `any of ${String(urls.length)} monitors`;
    const what = error.sent ? `no answer from ${who}` : `cannot reach ${who}`;
    const hint = error.sent
      ? 'moorage hosts   (or another --address)'
      : 'moorage dev   (or name a monitor with --address)';
    return new CliError(EXIT.unreachable, `${what} (from ${from}): ${error.message}`, hint, error);
  }
}

function worthAnother(error: unknown, repeatable: boolean): boolean {
  if (error instanceof HttpError) return !error.sent || repeatable;
  return error instanceof ProblemError && error.problem.status === 503;
}

/** An error answer fits into a few KiB. */
const PROBLEM_BYTES_MAX = 64 * 1024;

async function jsonOf(chunks: AsyncIterable<Uint8Array>): Promise<unknown> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > PROBLEM_BYTES_MAX) return undefined;
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
