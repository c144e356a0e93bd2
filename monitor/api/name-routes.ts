import { sees } from '../../src/core/access/access.ts';
import type { ServiceName } from '../../src/core/names/names.ts';
import { nameText, readName } from '../../src/core/names/names.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { NameAnswer } from '../../src/wire/api/names-api.ts';
import { NAMES_ASKED_CHARS_MAX } from '../../src/wire/api/names-api.ts';
import { readNamesWanted } from '../../src/wire/api/names-frames.ts';
import { refuse } from '../refusals.ts';
import type { MonitorState } from './monitor-state.ts';
import { flagIn, namespaceIn } from './requests.ts';

export function nameRoutes(state: MonitorState): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/names',
      right: 'names',
      handle: async (request) =>
        flagIn(request, 'follow', false) ? follow(state, request) : list(state, request),
    },
    {
      method: 'POST',
      path: '/v1/names/follow',
      right: 'names',
      reads: true,
      handle: async (request) => followWanted(state, request),
    },
    {
      method: 'GET',
      path: '/v1/names/:name',
      right: 'names',
      handle: async (request) => one(state, request),
    },
  ];
}

function list(state: MonitorState, request: RouteRequest): RouteReply {
  const namespace = namespaceIn(request);
  const names: Omit<NameAnswer, 'incomplete'>[] = [];
  for (const name of state.names.known())
    if ((namespace === null || name.namespace === namespace) && sees(request.peer, name.namespace))
      names.push(answerOf(state, name));
  names.sort((a, b) => a.name.localeCompare(b.name));
  return { status: 200, body: { names, incomplete: !state.follower.view.complete } };
}

function one(state: MonitorState, request: RouteRequest): RouteReply {
  const name = nameIn(request.params['name'] ?? '');
  // Of a namespace that the caller does not see nothing is there.
  const lack = sees(request.peer, name.namespace)
    ? state.names.lackOf(name)
    : `there is no job ${name.namespace}/${name.job}`;
  if (lack !== null)
    throw refuse(404, 'no-such-name', `${nameText(name)}: ${lack}`, { hint: 'moorage names' });
  return { status: 200, body: { ...answerOf(state, name), incomplete: !state.follower.view.complete } };
}

function follow(state: MonitorState, request: RouteRequest): RouteReply {
  const text = request.query['names'];
  const namespace = namespaceIn(request);
  if (text !== undefined && text.length > NAMES_ASKED_CHARS_MAX)
    throw refuse(400, 'bad-request', `names may have ${String(NAMES_ASKED_CHARS_MAX)} characters at most`, {
      path: 'names',
    });
  const names = text === undefined ? null : textsOf(text.split(','));
  const seen = (one: string): boolean => (namespace === null || one === namespace) && sees(request.peer, one);
  return stream(state.names.read(names, seen, request.signal));
}

function followWanted(state: MonitorState, request: RouteRequest): RouteReply {
  const names = textsOf(readNamesWanted(request.body).names);
  return stream(state.names.read(names, (one) => sees(request.peer, one), request.signal));
}

function textsOf(parts: readonly string[]): ReadonlySet<string> {
  return new Set(parts.map((part) => nameText(nameIn(part))));
}

function stream(lines: AsyncIterable<string>): RouteReply {
  return { status: 200, contentType: 'application/x-ndjson', stream: lines };
}

function answerOf(state: MonitorState, name: ServiceName): Omit<NameAnswer, 'incomplete'> {
  return { name: nameText(name), ...name, endpoints: state.names.endpoints(name) };
}

function nameIn(text: string): ServiceName {
  const name = readName(text);
  if (name !== null) return name;
  throw refuse(400, 'bad-request', `"${text}" is no name: write <port>.<group>.<job>.<namespace>`, {
    path: 'name',
    hint: 'moorage names',
  });
}
