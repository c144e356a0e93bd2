import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { ListenOptions } from '../../ports/http.ts';

/** How long a browser keeps the answer to what it asks before a call. */
const ANSWER_KEPT_S = 600;

/**
 * What browsers ask of a server. Nothing is ever taken for another kind of content than it says; and pages of known origins may
 * call: before a call from another origin a browser asks with `OPTIONS`, without anything that says who its user is.
 */
export function answerBrowsers(app: FastifyInstance, isKnown: ListenOptions['isKnownOrigin']): void {
  app.addHook('onRequest', async ({ method, headers }, reply) => {
    reply.raw.setHeader('x-content-type-options', 'nosniff');
    const { origin } = headers;
    if (origin === undefined || isKnown?.(origin) !== true) return;
    reply.raw.setHeader('access-control-allow-origin', origin);
    reply.raw.setHeader('access-control-expose-headers', '*');
    reply.raw.setHeader('vary', 'origin');
    if (method === 'OPTIONS') return allow(reply);
  });
}

/**
 * A browser opens a WebSocket for any page, and shows its user's certificate for it: whether that page may is asked here. Who is
 * no browser names no origin.
 */
export function mayOpenChannel(
  headers: IncomingHttpHeaders,
  isKnown: ListenOptions['isKnownOrigin'],
): boolean {
  const { origin, host } = headers;
  return origin === undefined || isKnown?.(origin) === true || hostOf(origin) === host;
}

function hostOf(origin: string): string | null {
  try {
    return new URL(origin).host;
  } catch {
    return null;
  }
}

function allow(reply: FastifyReply): FastifyReply {
  reply.raw.setHeader('access-control-allow-methods', 'GET, PUT, POST, DELETE');
  reply.raw.setHeader('access-control-allow-headers', ALLOWED_HEADERS);
  reply.raw.setHeader('access-control-max-age', String(ANSWER_KEPT_S));
  return reply.code(204).send();
}

/** `authorization` is in no wildcard. */
const ALLOWED_HEADERS =
  'authorization, content-type, accept, idempotency-key, if-match, last-event-id, traceparent, x-min-revision, x-request-id';
