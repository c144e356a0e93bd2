/** HTTP as roles see it: calls out, and routes in. The simulator joins the two with a network of its own. */

export type Method = 'GET' | 'PUT' | 'POST' | 'DELETE';

export interface HttpCall {
  readonly method: Method;
  readonly url: string;
  /** Sent as JSON when present. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** For the whole answer, or for the first byte of a stream. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON body; undefined when there is none. */
  readonly body: unknown;
}

export interface HttpStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Ends when the peer ends it; throws HttpError when it is cut or silent for longer than `idleTimeoutMs`. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

export interface HttpClient {
  /** @throws HttpError; any answer with a status, also 4xx and 5xx, is a value */
  call(call: HttpCall): Promise<HttpAnswer>;
  /** @throws HttpError */
  stream(call: HttpCall & { readonly idleTimeoutMs: number }): Promise<HttpStream>;
  close(): Promise<void>;
}

/**
 * A call without an answer. `sent: false` means that the peer surely did nothing (it refused the connection);
 * `sent: true` means unknown.
 */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly sent: boolean;

  constructor(message: string, options: { sent: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.sent = options.sent;
  }
}

export interface RouteRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** Aborted when the caller went away: ends streams. */
  readonly signal: AbortSignal;
}

export interface RouteReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON, unless it is a `stream`. */
  readonly body?: unknown;
  readonly stream?: AsyncIterable<Uint8Array | string>;
  /** Of a stream; `application/json` otherwise. */
  readonly contentType?: string;
}

export interface Route {
  readonly method: Method;
  /** `/v1/allocations/:id` */
  readonly path: string;
  /** Where this route takes more than `ListenOptions.bodyBytesMax`. */
  readonly bodyBytesMax?: number;
  readonly handle: (request: RouteRequest) => Promise<RouteReply>;
}

export interface HttpListener {
  /** Base URL without a slash at the end. */
  readonly address: string;
  /** Refuses new calls, lets those under way end for up to `graceMs`, then cuts them. */
  close(graceMs: number): Promise<void>;
}

export interface HttpServer {
  listen(routes: readonly Route[], options: ListenOptions): Promise<HttpListener>;
}

export interface ListenOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly bodyBytesMax: number;
}
