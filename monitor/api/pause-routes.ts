import { nameOfCaller, sees } from '../../src/core/access/access.ts';
import type { Pause, PauseScope } from '../../src/core/quota/pauses.ts';
import { isInForce, pauseName } from '../../src/core/quota/pauses.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { PausesAnswer } from '../../src/wire/api/pause-api.ts';
import { readPausable, readPause, readPauseScope } from '../../src/wire/api/pause-api.ts';
import { PAUSES_MAX, pausesIn, setPause } from '../limits/pauses.ts';
import { refuse } from '../refusals.ts';
import type { MonitorState } from './monitor-state.ts';
import { caughtUp, revisionHeader } from './requests.ts';

export function pauseRoutes(state: MonitorState): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/pauses',
      right: 'read',
      handle: async (request) => ({ status: 200, body: seenBy(state, request) }),
    },
    {
      method: 'PUT',
      path: '/v1/pauses/:what',
      right: 'operate',
      handle: (request) => pause(state, request),
    },
    {
      method: 'DELETE',
      path: '/v1/pauses/:what',
      right: 'operate',
      handle: (request) => resume(state, request),
    },
  ];
}

/** Those of other namespaces are nobody's business. */
function seenBy({ copy }: MonitorState, { peer }: RouteRequest): PausesAnswer {
  const isSeen = ({ namespace }: PauseScope): boolean => namespace === undefined || sees(peer, namespace);
  return { pauses: pausesIn(copy).filter(isSeen) };
}

async function pause(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const what = readPausable(request.params['what']);
  const { reason, forMs, ...scope } = readPause(request.body);
  const known = state.copy.pauses.get(pauseName(what, scope))?.value;
  if (!isInForce(known) && state.copy.pauses.size >= PAUSES_MAX)
    throw refuse(409, 'too-many-pauses', `${String(PAUSES_MAX)} are paused, or were within a day`);
  const sinceMs = state.clock.nowMs();
  const until = forMs === undefined ? {} : { untilMs: sinceMs + forMs };
  const made: Omit<Pause, 'what'> = { by: nameOfCaller(request.peer), reason, sinceMs, ...until };
  return await answer(state, request, await setPause(state, what, scope, made));
}

async function resume(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const what = readPausable(request.params['what']);
  const scope = readPauseScope(request.query);
  return await answer(state, request, await setPause(state, what, scope, null));
}

async function answer(state: MonitorState, request: RouteRequest, revision: number): Promise<RouteReply> {
  await caughtUp(state, request, revision);
  const known = Math.max(revision, state.copy.changedAt);
  return { status: 200, headers: revisionHeader(known), body: seenBy(state, request) };
}
