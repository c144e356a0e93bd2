import { nameOfCaller } from '../../src/core/access/access.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { OpenIdListAnswer } from '../../src/wire/access/openid-api.ts';
import { readOpenIdRequest } from '../../src/wire/access/openid-requests.ts';
import { refuse } from '../refusals.ts';
import type { MonitorState } from './monitor-state.ts';
import { caughtUp, idIn } from './requests.ts';

export function openIdRoutes(state: MonitorState): Route[] {
  const list = (): OpenIdListAnswer => ({ providers: state.openid.list() });
  return [
    {
      method: 'GET',
      path: '/v1/openid',
      right: 'tokens',
      handle: async () => ({ status: 200, body: list() }),
    },
    { method: 'PUT', path: '/v1/openid/:name', right: 'tokens', handle: (request) => set(state, request) },
    {
      method: 'DELETE',
      path: '/v1/openid/:name',
      right: 'tokens',
      handle: (request) => remove(state, request),
    },
  ];
}

async function set(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const name = idIn(request.params['name'], 'name');
  const body = readOpenIdRequest(request.body);
  const { status, revision } = await state.openid.set(name, body, nameOfCaller(request.peer));
  await caughtUp(state, request, revision);
  return { status: 200, body: status };
}

async function remove(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const name = idIn(request.params['name'], 'name');
  const revision = await state.openid.delete(name);
  if (revision === null)
    throw refuse(404, 'no-such-provider', `there is no OpenID provider ${name}`, {
      hint: 'moorage openid list',
    });
  await caughtUp(state, request, revision);
  return { status: 204 };
}
