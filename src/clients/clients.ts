/**
 * Typed clients of the roles' APIs. `clients.ts` has what they share: reading an answer, or the problem in it.
 *
 * - `monitor-client.ts`: the API that people use, over several monitors; `monitor-failover.ts` asks one monitor after
 *   another, `monitor-streams.ts` reads logs and events, `monitor-paths.ts` makes paths, `event-cursor.ts` resumes events
 * - `list-pages.ts`: reads lists in pages
 * - `host-client.ts`, `scheduler-client.ts`, `arbiter-client.ts`: the roles' own APIs; `delegator.ts`: for whom a host is asked
 * - `drain-preview.ts`: what a drain of a host would move, and how
 * - `attach-session.ts`: a terminal on a task, over any number of cuts; `input-buffer.ts` holds input until it is confirmed
 */
import type { HttpAnswer, HttpStream } from '../ports/http.ts';
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
 * Statuses that leave the outcome open: the peer was too slow to read the request (408), has too much to do (429), or failed.
 * The request may have been done, and may be repeated.
 */
export function isPassing(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}

/**
 * The body of a successful answer, not checked: the peer is a role of this version or the one before.
 * @throws ProblemError when the answer is anything but 2xx
 */
export function bodyOf<T>(answer: HttpAnswer): T {
  if (!isSuccess(answer)) throw problemErrorOf(answer);
  return answer.body as T;
}

/** Error answers fit into a few KiB. */
const PROBLEM_BYTES_MAX = 64 * 1024;

/** The problem in the body of a stream that was refused. */
export async function problemErrorOfStream(stream: HttpStream): Promise<ProblemError> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of stream.chunks) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > PROBLEM_BYTES_MAX) break;
  }
  return problemErrorOf({ ...stream, body: jsonOf(text) });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
