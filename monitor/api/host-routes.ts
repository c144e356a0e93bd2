import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import { readEligibilityRequest } from '../../src/wire/api/monitor-requests.ts';
import { hostList, hostStatus } from '../hosts/host-status.ts';
import type { MonitorState } from './monitor-state.ts';
import { noSuchHost } from '../refusals.ts';
import { idIn } from './requests.ts';

/** Author of an eligibility change through the API; the API knows no names of people. */
const OPERATOR = 'operator';

export function hostRoutes(state: MonitorState): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/hosts',
      handle: async () => ({ status: 200, body: hostList(state.copy, state.follower.view, state.verdictOf) }),
    },
    {
      method: 'POST',
      path: '/v1/hosts/:host/eligibility',
      handle: (request) => setEligibility(state, request),
    },
    {
      method: 'GET',
      path: '/v1/schedulers',
      handle: async () => ({ status: 200, body: await state.schedulers.list() }),
    },
  ];
}

async function setEligibility(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const host = idIn(request.params['host'], 'host');
  const wanted = readEligibilityRequest(request.body);
  if (state.copy.hosts.get(host) === undefined) throw noSuchHost(host);
  const eligibility = await state.eligibility.set(host, {
    state: wanted.state,
    reason: wanted.reason,
    by: OPERATOR,
    ...(wanted.state === 'draining' && wanted.deadlineMs !== undefined
      ? { drainDeadlineMs: state.clock.nowMs() + wanted.deadlineMs }
      : {}),
  });
  const status = hostStatus(state.copy, state.follower.view, state.verdictOf, host);
  if (status === null) throw noSuchHost(host);
  return { status: 200, body: { ...status, eligibility } };
}
