import type { IncomingHttpHeaders } from 'node:http';
import { JsonError } from '../../core/json/json.ts';
import { contextOf } from '../../core/trace/trace.ts';
import type { Log } from '../../ports/telemetry.ts';
import { REQUEST_ID_HEADER } from '../../wire/access/audit-api.ts';
import type { Problem } from '../../wire/api/problem.ts';
import { ProblemError } from '../../wire/api/problem.ts';

export const PROBLEM_TYPE = 'application/problem+json';

/** Problems of requests that reach no route, by status. */
const CODES: Readonly<Record<number, readonly [code: string, detail: string]>> = {
  400: ['bad-request', 'the request cannot be read'],
  401: ['unauthenticated', 'a certificate of the cell or a token is needed'],
  403: ['forbidden', 'this identity may not do that'],
  404: ['not-found', 'there is nothing here'],
  408: ['timeout', 'the request did not come in time'],
  413: ['too-large', 'the body is larger than this route takes'],
  414: ['too-large', 'the address is longer than this server takes'],
  415: ['not-json', 'the body must be application/json'],
  417: ['bad-request', 'expectations are not met here'],
  503: ['closing', 'this process is about to end'],
};

export function problemOfStatus(status: number): Problem {
  const [code, detail] = CODES[status] ?? ['bad-request', 'the request is refused'];
  return { status, code, detail };
}

/** Whoever is refused for what does not last may ask again after so long. */
export const RETRY_AFTER_S = 1;

/** What stands beside a problem: how to say who one is; when to ask again. */
export function headersOfProblem({ status }: Pick<Problem, 'status'>): Readonly<Record<string, string>> {
  if (status === 401) return { 'www-authenticate': 'Bearer' };
  return status === 429 || status === 503 ? { 'retry-after': String(RETRY_AFTER_S) } : {};
}

/**
 * The problem to answer with when a route threw. A ProblemError goes to the caller as it is; every other error goes to the
 * log, and the caller gets status 500 without details.
 */
export function problemOfError(
  error: unknown,
  log: Log,
  route: string,
  headers: IncomingHttpHeaders = {},
): Problem {
  if (error instanceof ProblemError) return error.problem;
  if (error instanceof JsonError) return { status: 400, code: 'bad-json', detail: error.message };
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  if (typeof status === 'number' && status >= 400 && status < 500) return problemOfStatus(status);
  const { traceparent } = headers;
  const trace = typeof traceparent === 'string' ? contextOf(traceparent)?.traceId : undefined;
  log.error({ route, request: headers[REQUEST_ID_HEADER], trace, error }, 'a route failed');
  return { status: 500, code: 'internal', detail: 'this request failed inside the server' };
}
