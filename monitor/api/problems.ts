import { StoreError } from '../../src/ports/cell-store.ts';
import type { RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { Problem } from '../../src/wire/api/problem.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { RecordError } from '../../src/wire/wire.ts';
import { refuse } from '../refusals.ts';

/** Seconds after which a write may be tried again while the store is away (I57). */
const RETRY_AFTER_S = '1';

/** Wraps a handler: a store that is away is answered 503 with `Retry-After`, not 500, and a record that cannot be read is named. */
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

/** The answer for one part of a request. @throws what is neither a refusal nor a fault of the store or what lies there */
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
  if (error instanceof RecordError)
    throw refuse(500, 'unreadable-record', `a record in the store cannot be read: ${error.message}`, {
      hint: 'moorage alarms tells its key',
    });
  if (!(error instanceof StoreError)) return null;
  if (error.code === 'too-large') throw refuse(413, 'too-large', 'the record is larger than the store takes');
  return {
    status: 503,
    code: `store-${error.code}`,
    detail: 'the store cannot be written now; nothing was changed',
  };
}
