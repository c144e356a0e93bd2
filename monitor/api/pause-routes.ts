import { nameOfCaller } from '../../src/core/access/access.ts';
import type { Pause } from '../../src/core/quota/quota.ts';
import { SWITCHES_OFF } from '../../src/core/quota/quota.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import { readPausable, readPause } from '../../src/wire/api/pause-api.ts';
import { pausesOf, setPause } from '../limits/pauses.ts';
import type { MonitorState } from './monitor-state.ts';
import { caughtUp, revisionHeader } from './requests.ts';

export function pauseRoutes(state: MonitorState): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/pauses',
      right: 'read',
      handle: async () => ({
        status: 200,
        body: pausesOf(state.copy.switches.get('')?.value ?? SWITCHES_OFF),
      }),
    },
    {
      method: 'PUT',
      path: '/v1/pauses/:what',
      right: 'operate',
      handle: (request) => set(state, request, pauseIn(state, request)),
    },
    {
      method: 'DELETE',
      path: '/v1/pauses/:what',
      right: 'operate',
      handle: (request) => set(state, request, null),
    },
  ];
}

function pauseIn({ clock }: MonitorState, { body, peer }: RouteRequest): Pause {
  const { reason, forMs } = readPause(body);
  const by = nameOfCaller(peer);
  const sinceMs = clock.nowMs();
  return { by, reason, sinceMs, ...(forMs === undefined ? {} : { untilMs: sinceMs + forMs }) };
}

async function set(state: MonitorState, request: RouteRequest, pause: Pause | null): Promise<RouteReply> {
  const { switches, revision } = await setPause(state, readPausable(request.params['what']), pause);
  await caughtUp(state, request, revision);
  const known = Math.max(revision, state.copy.changedAt);
  return { status: 200, headers: revisionHeader(known), body: pausesOf(switches) };
}
