import type { Caller, Right } from '../core/access/access.ts';
import type { IdentityRole } from '../core/access/identity.ts';
import type { Invited } from '../core/access/invitation.ts';
import type { Person } from '../core/access/person.ts';

/** HTTP as roles see it: calls out, and routes in. The simulator joins the two with a network of its own. */

export type Method = 'GET' | 'PUT' | 'POST' | 'DELETE';

export interface HttpCall {
  readonly method: Method;
  readonly url: string;
  /** Sent as JSON when present. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The role that must answer, by its certificate; absent: any of the cell. */
  readonly to?: IdentityRole;
  /** For the whole answer, or for the first byte of a stream. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** May be sent in one request with other calls to the same server; only the status and body of its answer count. */
  readonly batched?: true;
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
 * A call without an answer. `sent: false`: the peer surely did nothing (it refused the connection);
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
  /** Who calls, by its certificate or token; null: the server has no credentials, and trusts whoever reaches it. */
  readonly peer: Caller | null;
  /** Aborted when the caller has gone, or its token has ended: ends streams. */
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
  /** What a caller must have the right to; others are refused before the body is read. */
  readonly right: Right;
  /** Where this route takes more than `ListenOptions.bodyBytesMax`. */
  readonly bodyBytesMax?: number;
  /** It changes nothing, though it is no GET: what it asks for has no room in an address. */
  readonly reads?: true;
  /** May be called within a batch: it answers with a status and a body, and no stream. */
  readonly batched?: true;
  readonly handle: (request: RouteRequest) => Promise<RouteReply>;
}

/** Whole messages in both directions over one connection. */
export interface Channel {
  /** Resolves when the next message may be sent: a peer that does not read delays the sender. @throws HttpError when it is cut */
  send(message: Uint8Array): Promise<void>;
  /**
   * In order, for one reader. Ends when the peer closed the channel; throws HttpError when it was cut. Without a reader the
   * peer is delayed.
   */
  readonly messages: AsyncIterable<Uint8Array>;
  /** Closes the channel. Messages sent before arrive. */
  close(): void;
}

/** Accepts channels. `open` may refuse with an error, as a route does; the function that it returns gets the channel. */
export interface ChannelRoute {
  /** `/v1/allocations/:id/attach` */
  readonly path: string;
  readonly right: Right;
  readonly open: (request: RouteRequest) => Promise<(channel: Channel) => Promise<void>>;
}

export interface ChannelCall {
  /** Begins with `http`, like any other. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The role that must answer, by its certificate; absent: any of the cell. */
  readonly to?: IdentityRole;
  /** Until the channel is open. */
  readonly timeoutMs: number;
  /** Cuts the channel, also later. */
  readonly signal?: AbortSignal;
}

export type ChannelAnswer =
  | { readonly kind: 'open'; readonly channel: Channel }
  | { readonly kind: 'refused'; readonly answer: HttpAnswer };

export interface ChannelClient {
  /** @throws HttpError when there is no answer at all */
  open(call: ChannelCall): Promise<ChannelAnswer>;
}

/**
 * A browser sets no headers of a WebSocket. It offers this protocol, which the server takes, and beside it one that is its token
 * behind `CHANNEL_BEARER`.
 */
export const CHANNEL_PROTOCOL = 'moorage';
export const CHANNEL_BEARER = 'moorage.bearer.';

/** A message at its longest: 64 KiB of bytes, and what stands before them. */
export const CHANNEL_MESSAGE_BYTES_MAX = 128 * 1024;

export interface HttpListener {
  /** Base URL without a slash at the end. */
  readonly address: string;
  /** Refuses new calls, waits up to `graceMs` for those under way, then cuts them. */
  close(graceMs: number): Promise<void>;
}

export interface HttpServer {
  /** @throws Error when a route declares no right that there is */
  listen(routes: readonly Route[], options: ListenOptions): Promise<HttpListener>;
}

export interface ListenOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly bodyBytesMax: number;
  readonly channels?: readonly ChannelRoute[];
  /** Who may send several calls of `batched` routes in one request. Absent: nobody; each comes by itself. */
  readonly batchRight?: Right;
  /** Takes people with tokens, who have no certificate. Absent: a server with credentials wants a certificate of everybody. */
  readonly admit?: AdmitToken;
  /** Whether pages of this origin may call, from browsers. Absent: those that come from this server may. */
  readonly isKnownOrigin?: (origin: string) => boolean;
}

/** `unknown`: never made, ended, or revoked. `unsure`: the store does not say now whether it counts. */
export type AdmitToken = (token: string) => Promise<Admission | 'unknown' | 'unsure' | NotAdmitted>;

/** A token that this cell did not make does not count. */
export interface NotAdmitted {
  /** After "this token". */
  readonly why: string;
  /** false: it may count when it is asked again. */
  readonly isSure: boolean;
}

/** A person, by its token; or a machine that was invited, by what it shows. */
export interface Admission {
  readonly person: Person | Invited;
  /** Aborted when the token ends or is revoked: whatever is open with it is cut. */
  readonly ended: AbortSignal;
}
