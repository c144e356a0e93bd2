/**
 * The HTTP server of every role. A request passes: what browsers ask (`browsers.ts`) → who calls (`callers.ts`), by its certificate or token → how much one caller
 * may take (`caller-limits.ts`), limits on its size and time → the right of its route → `readOnlyJson` → its route → JSON, or a stream (`stream-reply.ts`); whatever fails is answered
 * with a problem (`problem-reply.ts`).
 *
 * Both ends share `request-values.ts` (flat queries and headers) and `socket-channel.ts` (a WebSocket as a channel).
 * `channel-server.ts` takes upgrades, with `route-match.ts`; `channel-client.ts` opens
 * channels. Calls: `client-core.ts` has the rules of a call (deadline, size, errors), over undici for roles (`client.ts`) or
 * Node's own module for the command line (`node-client.ts`); `call-timer.ts` is its deadline, `call-faults.ts` tells what
 * surely was not sent. `call-batches.ts` sends several calls in one request, which `batch-route.ts` takes (`batch.ts`: its shape).
 */
import type { Server as TlsServer } from 'node:https';
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifyServerOptions as FastifyOptions,
} from 'fastify';
import fastify from 'fastify';
import { assertRights, isForAnybody, mayUse } from '../../core/access/access.ts';
import { parseStrictJson } from '../../core/json/json.ts';
import type {
  AdmitToken,
  HttpListener,
  HttpServer,
  ListenOptions,
  Route,
  RouteRequest,
} from '../../ports/http.ts';
import type { Log } from '../../ports/telemetry.ts';
import { ProblemError } from '../../wire/api/problem.ts';
import type { Credentials } from '../pki/credentials.ts';
import { serverTls } from '../pki/tls.ts';
import { withBatches } from './batch-route.ts';
import { answerBrowsers } from './browsers.ts';
import { CallerLimits } from './caller-limits.ts';
import type { Admitted, CallerOf } from './callers.ts';
import { anybody, certifiedCallers, cutAtEnd, NOBODY } from './callers.ts';
import { takeChannels } from './channel-server.ts';
import { headersOfProblem, PROBLEM_TYPE, problemOfError, problemOfStatus } from './problem-reply.ts';
import { flatHeaders, flatQuery, URL_CHARS_MAX } from './request-values.ts';
import { sendStream } from './stream-reply.ts';

/** How clients reach a server. */
export interface Reach {
  /** With them it speaks TLS, and answers nobody without a certificate of the cell's authority. */
  readonly credentials?: Credentials | undefined;
  /**
   * Listen beyond this machine without credentials. Off by default: an agent's API that anyone on the network can call is a
   * shell for anyone on the network.
   */
  readonly plainOutsideLoopback?: boolean;
  /** Base URL to publish, when it is not the one where the server listens. */
  readonly advertise?: string;
}

export interface FastifyServerOptions extends Reach {
  readonly log: Log;
  /** Open connections; more are closed at once. Each stream holds one. */
  readonly connectionsMax?: number;
}

/** From `security.md` section 4: without them slow and idle connections stay open for ever. */
const REQUEST_TIMEOUT_MS = 2_000;
const HEADERS_TIMEOUT_MS = 1_000;
const CONNECTION_TIMEOUT_MS = 3_000;
/** How late it may be noticed that they are over. */
const CONNECTIONS_CHECK_MS = 1_000;
/** Clients keep a free connection for 4 s (`node-client.ts`; undici by default), so that it is they who end it. */
const KEEP_ALIVE_MS = 5_000;
const HEADER_BYTES_MAX = 8 * 1024;
const PARAM_CHARS_MAX = 128;
const REQUESTS_PER_SOCKET_MAX = 100_000;
export const CONNECTIONS_MAX = 4_096;

/** Only this machine reaches them. */
export const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

/** The HTTP server of every role, over fastify: JSON in, JSON or a stream out, problems for all that goes wrong. */
export function fastifyServer(options: FastifyServerOptions): HttpServer {
  return {
    async listen(routes, listen) {
      if (options.credentials === undefined && !LOOPBACK.has(listen.host) && !options.plainOutsideLoopback)
        throw new Error(
          `refusing to listen on ${listen.host}: without TLS only this machine's own addresses are allowed`,
        );
      const { batchRight } = listen;
      const served = batchRight === undefined ? routes : withBatches(routes, batchRight, options.log);
      assertRights([...served, ...(listen.channels ?? [])]);
      const server = makeServer(served, listen, options);
      const address = await server.app.listen({ host: listen.host, port: listen.port });
      return { address: options.advertise ?? address, close: (graceMs) => server.close(graceMs) };
    },
  };
}

interface Server {
  readonly app: FastifyInstance;
  readonly close: HttpListener['close'];
}

function makeServer(routes: readonly Route[], listen: ListenOptions, options: FastifyServerOptions): Server {
  const app: FastifyInstance = fastify({
    logger: false,
    bodyLimit: listen.bodyBytesMax,
    schemaController: NO_COMPILERS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxRequestsPerSocket: REQUESTS_PER_SOCKET_MAX,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: PARAM_CHARS_MAX },
    exposeHeadRoutes: false,
    ...secured(options.credentials, listen.admit !== undefined),
    frameworkErrors: (_error, _request, reply) => sendProblem(reply, problemOfStatus(400)),
  });
  const { connectionsMax = CONNECTIONS_MAX } = options;
  app.server.maxConnections = connectionsMax;
  // Node would answer `Expect: 100-continue` before anything has read the length.
  app.server.on('checkContinue', (_request, response) => {
    response.writeHead(417, { connection: 'close' }).end();
  });
  const { callerOf, forget } = callersOf(app, options.credentials, listen.admit);
  const open = new Set<AbortController>();
  readOnlyJson(app);
  const callers = new WeakMap<FastifyRequest, Admitted>();
  const limits = new CallerLimits(Math.ceil(connectionsMax / 2), () => performance.now());
  const forAnybody = new Set(routes.filter(({ right }) => isForAnybody(right)).map(({ path }) => path));
  answerBrowsers(app, listen.isKnownOrigin);
  app.addHook('onRequest', async (request, reply) => {
    if (forAnybody.has(request.routeOptions.url ?? '')) {
      callers.set(request, NOBODY);
      return;
    }
    const admitted = await callerOf(request.raw);
    const leave = limits.enter(admitted.peer);
    if (typeof leave !== 'function') throw new ProblemError(leave);
    // It may have hung up while its token was looked at.
    if (reply.raw.closed) leave();
    else reply.raw.once('close', leave);
    callers.set(request, admitted);
    if (request.url.length > URL_CHARS_MAX) throw new ProblemError(problemOfStatus(414));
  });
  app.setErrorHandler((error, request, reply) =>
    sendProblem(reply, problemOfError(error, options.log, request.routeOptions.url ?? '?', request.headers)),
  );
  app.setNotFoundHandler((_request, reply) => sendProblem(reply, problemOfStatus(404)));
  for (const route of routes) mount(app, route, { open, callers, log: options.log });
  const channelDeps = { callerOf, isKnownOrigin: listen.isKnownOrigin, log: options.log };
  const channels = takeChannels(app.server, listen.channels ?? [], channelDeps);
  return {
    app,
    close: (graceMs) => {
      forget();
      channels.close();
      return closeServer(app, open, graceMs);
    },
  };
}

const LIMITS = {
  maxHeaderSize: HEADER_BYTES_MAX,
  headersTimeout: HEADERS_TIMEOUT_MS,
  connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
};

/** One kind of server or the other; fastify types an instance by its server, and what is used here is the same of both. */
function secured(
  credentials: Credentials | undefined,
  takesTokens: boolean,
): { readonly http: typeof LIMITS } {
  if (credentials === undefined) return { http: LIMITS };
  return { https: { ...LIMITS, ...serverTls(credentials.now, takesTokens) } } as never;
}

/** @returns `forget` ends the following of the credentials */
function callersOf(
  app: FastifyInstance,
  credentials: Credentials | undefined,
  admit: AdmitToken | undefined,
): { readonly callerOf: CallerOf; readonly forget: () => void } {
  if (credentials === undefined) return { callerOf: anybody, forget: () => undefined };
  const server = app.server as unknown as TlsServer;
  const forget = credentials.onChange((now) => server.setSecureContext(serverTls(now, admit !== undefined)));
  return { callerOf: certifiedCallers(app.server, credentials.identity.cell, admit), forget };
}

/** Routes check their bodies. Fastify's own compilers would be loaded all the same, and take a tenth of a start. */
const NO_COMPILERS = {
  compilersFactory: {
    buildValidator: () => () => () => true,
    buildSerializer: () => () => (value: unknown) => JSON.stringify(value),
  },
} as unknown as NonNullable<FastifyOptions['schemaController']>;

/** Other content types are answered with 415, so no handler ever sees a body that is a string. */
function readOnlyJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, body.length === 0 ? undefined : parseStrictJson(decodeText(body as Buffer)));
    } catch (error) {
      done(error as Error);
    }
  });
}

function decodeText(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch (cause) {
    throw new ProblemError({ status: 400, code: 'bad-json', detail: 'the text is not UTF-8' }, cause);
  }
}

interface Mounted {
  readonly open: Set<AbortController>;
  /** Of the requests under way. */
  readonly callers: WeakMap<FastifyRequest, Admitted>;
  readonly log: Log;
}

function mount(app: FastifyInstance, route: Route, { open, callers, log }: Mounted): void {
  app.route({
    method: route.method,
    url: route.path,
    ...(route.bodyBytesMax === undefined ? {} : { bodyLimit: route.bodyBytesMax }),
    onRequest: async (request) => {
      if (!mayUse(admittedOf(callers, request).peer, route.right))
        throw new ProblemError(problemOfStatus(403));
    },
    handler: async (request, reply) => {
      // The request is complete. From now on the server may be silent: a long poll, or a stream without news.
      request.raw.socket.setTimeout(0);
      const caller = new AbortController();
      open.add(caller);
      reply.raw.once('close', () => {
        open.delete(caller);
        if (!reply.raw.writableFinished) caller.abort();
      });
      const admitted = admittedOf(callers, request);
      reply.raw.once(
        'close',
        cutAtEnd(admitted, () => reply.raw.destroy()),
      );
      const answer = await route.handle(routeRequest(request, admitted.peer, caller.signal));
      if (answer.stream !== undefined) {
        reply.hijack();
        await sendStream(reply.raw, answer, answer.stream, caller).catch((error: unknown) =>
          log.warn({ route: route.path, error }, 'a stream broke off'),
        );
        return reply;
      }
      reply.code(answer.status).headers(answer.headers ?? {});
      if (answer.body === undefined) return reply.send();
      return reply
        .type(answer.contentType ?? 'application/json; charset=utf-8')
        .send(textOf(answer.body, answer));
    },
  });
}

/** A body with a content type of its own that is already text (`/metrics`) is sent as it is. */
function textOf(body: unknown, answer: { readonly contentType?: string }): string {
  return answer.contentType !== undefined && typeof body === 'string' ? body : JSON.stringify(body);
}

/** The first hook refuses who is nobody of the cell. */
function admittedOf(callers: WeakMap<FastifyRequest, Admitted>, request: FastifyRequest): Admitted {
  const caller = callers.get(request);
  if (caller === undefined) throw new ProblemError(problemOfStatus(403));
  return caller;
}

function routeRequest(request: FastifyRequest, peer: Admitted['peer'], signal: AbortSignal): RouteRequest {
  return {
    params: request.params as Record<string, string>,
    query: flatQuery(request.query),
    headers: flatHeaders(request.headers),
    body: request.body,
    peer,
    signal,
  };
}

function sendProblem(reply: FastifyReply, problem: { readonly status: number }): void {
  reply
    .headers(headersOfProblem(problem))
    .code(problem.status)
    .type(PROBLEM_TYPE)
    .send(JSON.stringify(problem));
}

async function closeServer(app: FastifyInstance, open: Set<AbortController>, graceMs: number): Promise<void> {
  const cut = setTimeout(() => {
    for (const caller of open) caller.abort();
    app.server.closeAllConnections();
  }, graceMs);
  try {
    await app.close();
  } finally {
    clearTimeout(cut);
  }
}
