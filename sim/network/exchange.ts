import { mayUse } from '../../src/core/access/access.ts';
import type { Identity } from '../../src/core/access/identity.ts';
import type {
  HttpAnswer,
  HttpCall,
  ListenOptions,
  Route,
  RouteReply,
  RouteRequest,
} from '../../src/ports/http.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { PROBLEM_TYPE, problemOfError, problemOfStatus } from '../../src/adapters/http/problem-reply.ts';
import { matchRoute } from '../../src/adapters/http/route-match.ts';

/** What travels: texts only, so that nothing is shared by reference between two actors. */
export interface Letter {
  readonly method: HttpCall['method'];
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly peer: Identity;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** `http://host-1/v1/reports?seq=3` in its two parts. */
export function partsOf(url: string): { readonly address: string; readonly target: string } {
  const slash = url.indexOf('/', url.indexOf('//') + 2);
  return slash < 0
    ? { address: url, target: '/' }
    : { address: url.slice(0, slash), target: url.slice(slash) };
}

export function letterOf(call: HttpCall, target: string, peer: Identity): Letter {
  return {
    peer,
    method: call.method,
    target,
    headers: call.headers ?? {},
    body: call.body === undefined ? '' : JSON.stringify(call.body),
  };
}

/** Has the route that fits handle the letter. `signal`: the caller's leaving, made when it is asked for. Never throws: what a route throws becomes a problem, as over real HTTP. */
export async function handle(
  routes: readonly Route[],
  options: ListenOptions,
  letter: Letter,
  signal: () => AbortSignal,
  log: Log,
): Promise<RouteReply> {
  const found = matchRoute(routes, letter.method, letter.target);
  if (found === null) return problemReply(problemOfStatus(404));
  if (!mayUse(letter.peer, found.route.right)) return problemReply(problemOfStatus(403));
  try {
    // As many characters may be up to three times as many bytes; no text of a simulation is near the bound.
    if (letter.body.length > (found.route.bodyBytesMax ?? options.bodyBytesMax))
      return problemReply(problemOfStatus(413));
    const body: unknown = letter.body === '' ? undefined : JSON.parse(letter.body);
    const { params, query } = found.values;
    const request: RouteRequest = {
      ...{ params, query, headers: letter.headers, body, peer: letter.peer },
      // Most routes never ask for it, and a signal costs more than all the rest.
      get signal() {
        return signal();
      },
    };
    return await found.route.handle(request);
  } catch (error) {
    return problemReply(problemOfError(error, log, found.route.path));
  }
}

/** The head of a reply and, but for streams, its body. */
export function answerOf(reply: RouteReply): Answer {
  const type =
    reply.contentType ?? (reply.stream === undefined ? 'application/json' : 'application/octet-stream');
  return {
    status: reply.status,
    headers: { 'content-type': type, ...reply.headers },
    body: reply.stream === undefined ? textOf(reply) : '',
  };
}

export function receivedOf(answer: Answer): HttpAnswer {
  const { status, headers, body } = answer;
  const json = (headers['content-type'] ?? 'json').includes('json');
  return { status, headers, body: body === '' ? undefined : json ? JSON.parse(body) : body };
}

function textOf(reply: RouteReply): string {
  if (reply.body === undefined) return '';
  if (reply.contentType !== undefined && typeof reply.body === 'string') return reply.body;
  return JSON.stringify(reply.body);
}

function problemReply(problem: { readonly status: number }): RouteReply {
  return { status: problem.status, body: problem, contentType: PROBLEM_TYPE };
}
