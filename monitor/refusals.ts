import type { RouteReply, RouteRequest } from '../src/ports/http.ts';
import { StoreError } from '../src/ports/cell-store.ts';
import { DEFAULT_NAMESPACE, isId } from '../src/core/cell/ids.ts';
import type { Problem } from '../src/wire/api/problem.ts';
import { ProblemError } from '../src/wire/api/problem.ts';

/** Seconds after which a write may be tried again while the store is away (I57). */
const RETRY_AFTER_S = '1';

export function refuse(
  status: number,
  code: string,
  detail: string,
  more: Partial<Problem> = {},
): ProblemError {
  return new ProblemError({ ...more, status, code, detail });
}

export function noSuchJob(jobKey: string): ProblemError {
  return refuse(404, 'no-such-job', `there is no job ${jobKey}`, { hint: 'moorage ps' });
}

export function noSuchHost(host: string): ProblemError {
  return refuse(404, 'no-such-host', `there is no host ${host}`, { hint: 'moorage hosts' });
}

/** The outcome of a write is not known yet, and could not be found out in time. */
export function outcomeUnknown(hint: string): ProblemError {
  return refuse(503, 'outcome-unknown', 'the store did not say whether this was done', { hint });
}

/** Puts a handler behind the answers that are the same for all routes: a store that is away is 503, not 500. */
export function guarded(
  handle: (request: RouteRequest) => Promise<RouteReply>,
): (request: RouteRequest) => Promise<RouteReply> {
  return async (request) => {
    try {
      return await handle(request);
    } catch (error) {
      const problem = problemOf(error);
      if (problem?.status !== 503) throw error;
      const headers = { 'retry-after': RETRY_AFTER_S };
      return { status: 503, headers, contentType: 'application/problem+json', body: problem };
    }
  };
}

/** The answer for one part of a request that fails by itself. @throws what is no refusal and no fault of the store */
export function problemOfPart(error: unknown): Problem {
  try {
    const problem = problemOf(error);
    if (problem !== null) return problem;
  } catch (refusal) {
    if (refusal instanceof ProblemError) return refusal.problem;
    throw refusal;
  }
  throw error;
}

function problemOf(error: unknown): Problem | null {
  if (error instanceof ProblemError) return error.problem;
  if (!(error instanceof StoreError)) return null;
  if (error.code === 'too-large') throw refuse(413, 'too-large', 'the record is larger than the store takes');
  return {
    status: 503,
    code: `store-${error.code}`,
    detail: 'the store cannot be written now; nothing was changed',
  };
}

/** `<namespace>/<job>` of a route with both. @throws ProblemError */
export function jobKeyIn(request: RouteRequest): string {
  return `${idIn(request.params['namespace'], 'namespace')}/${idIn(request.params['job'], 'job')}`;
}

export function namespaceIn(request: RouteRequest): string | null {
  const namespace = request.query['namespace'];
  return namespace === undefined ? null : idIn(namespace, 'namespace');
}

export function idIn(value: string | undefined, name: string): string {
  if (value === undefined || !isId(value))
    throw refuse(400, 'bad-request', `${name} must be lower-case letters, digits and dashes, at most 63`, {
      path: name,
    });
  return value;
}

/** A whole number from 0 to `max` in the query. */
export function countIn(request: RouteRequest, name: string, standard: number, max: number): number {
  const text = request.query[name];
  if (text === undefined) return standard;
  if (!/^\d{1,15}$/.test(text) || Number(text) > max)
    throw refuse(400, 'bad-request', `${name} must be a whole number from 0 to ${String(max)}`, {
      path: name,
    });
  return Number(text);
}

export function flagIn(request: RouteRequest, name: string, standard: boolean): boolean {
  const text = request.query[name];
  if (text === undefined) return standard;
  if (text !== 'true' && text !== 'false')
    throw refuse(400, 'bad-request', `${name} must be true or false`, { path: name });
  return text === 'true';
}

export { DEFAULT_NAMESPACE };
