import type { HttpAnswer } from '../ports/http.ts';
import type { Problem } from '../wire/api/problem.ts';
import { ProblemError } from '../wire/api/problem.ts';

/** The problem in an answer's body, or one made of the status when the body is something else (a proxy's page). */
export function problemOf(answer: HttpAnswer): Problem {
  const body = answer.body as Partial<Problem> | null | undefined;
  if (
    typeof body === 'object' &&
    body !== null &&
    typeof body.code === 'string' &&
    typeof body.detail === 'string'
  )
    return { ...body, status: answer.status, code: body.code, detail: body.detail };
  return {
    status: answer.status,
    code: 'unexpected-answer',
    detail: `the peer answered ${String(answer.status)}`,
  };
}

export function problemErrorOf(answer: HttpAnswer): ProblemError {
  return new ProblemError(problemOf(answer));
}

export function isSuccess(answer: { readonly status: number }): boolean {
  return answer.status >= 200 && answer.status < 300;
}

/**
 * Statuses that say nothing of what was asked: the peer was too slow to read it (408), has too much to do (429), or failed.
 * It may have been done, and may be asked again.
 */
export function isPassing(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}

/**
 * The body of a successful answer, taken for a `T`: the peer is one of our own roles, of this or the version before.
 * @throws ProblemError when the answer is anything but 2xx
 */
export function bodyOf<T>(answer: HttpAnswer): T {
  if (!isSuccess(answer)) throw problemErrorOf(answer);
  return answer.body as T;
}
