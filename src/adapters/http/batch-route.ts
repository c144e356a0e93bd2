import { z } from 'zod';
import type { Right } from '../../core/access/access.ts';
import { mayUse } from '../../core/access/access.ts';
import type { Route, RouteRequest } from '../../ports/http.ts';
import type { Log } from '../../ports/telemetry.ts';
import { ndjsonLine } from '../../core/json/ndjson.ts';
import { readBody } from '../../wire/api/api.ts';
import type { BatchedAnswer, BatchedCall } from './batch.ts';
import { BATCH_CALLS_MAX, BATCH_PATH } from './batch.ts';
import { problemOfError, problemOfStatus } from './problem-reply.ts';
import { URL_CHARS_MAX } from './request-values.ts';
import { matchRoute } from './route-match.ts';

const batchRequest = z.strictObject({
  calls: z
    .array(
      z.strictObject({
        method: z.enum(['GET', 'PUT', 'POST', 'DELETE']),
        path: z.string().max(URL_CHARS_MAX),
        headers: z.record(z.string().max(64), z.string().max(1024)).optional(),
        body: z.unknown().optional(),
      }),
    )
    .min(1)
    .max(BATCH_CALLS_MAX),
});

/**
 * Takes several calls in one request, and answers each as soon as it ends, in a line of NDJSON. Each call is admitted by its
 * own route's right, checked by its own route, and answered with its own status: a batch saves only the cost of requests.
 *
 * @param routes of which those that are `batched` are called
 * @param right without which no batch is read at all
 */
export function withBatches(routes: readonly Route[], right: Right, log: Log): readonly Route[] {
  const called = routes.filter((route) => route.batched === true);
  const batch: Route = {
    method: 'POST',
    path: BATCH_PATH,
    right,
    handle: async (request) => {
      const { calls } = readBody(batchRequest, request.body);
      return {
        status: 200,
        contentType: 'application/x-ndjson',
        stream: answersOf(called, calls, request, log),
      };
    },
  };
  return [...routes, batch];
}

async function* answersOf(
  routes: readonly Route[],
  calls: readonly BatchedCall[],
  { peer, signal }: Pick<RouteRequest, 'peer' | 'signal'>,
  log: Log,
): AsyncGenerator<string> {
  const ready: string[] = [];
  let wake = (): void => undefined;
  for (const [position, call] of calls.entries())
    void answerTo(routes, call, { peer, signal }, log).then(({ status, body }) => {
      ready.push(ndjsonLine({ call: position, status, body } satisfies BatchedAnswer));
      wake();
    });
  for (let left = calls.length; left > 0;) {
    if (ready.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    const lines = ready.splice(0);
    left -= lines.length;
    yield lines.join('');
  }
}

/** Never rejects: what a route throws is its answer. */
async function answerTo(
  routes: readonly Route[],
  call: BatchedCall,
  from: Pick<RouteRequest, 'peer' | 'signal'>,
  log: Log,
): Promise<Omit<BatchedAnswer, 'call'>> {
  const found = matchRoute(routes, call.method, call.path);
  if (found === null) return asAnswer(problemOfStatus(404));
  const { route, values } = found;
  if (!mayUse(from.peer, route.right)) return asAnswer(problemOfStatus(403));
  const headers = call.headers ?? {};
  try {
    const { status, body } = await route.handle({ ...values, ...from, headers, body: call.body });
    return { status, body };
  } catch (error) {
    return asAnswer(problemOfError(error, log, route.path, headers));
  }
}

function asAnswer(problem: { readonly status: number }): Omit<BatchedAnswer, 'call'> {
  return { status: problem.status, body: problem };
}
