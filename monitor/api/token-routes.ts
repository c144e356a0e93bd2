import { nameOfCaller } from '../../src/core/access/access.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { TokenListAnswer, WhoAmI } from '../../src/wire/access/token-api.ts';
import type { OpenIdListAnswer } from '../../src/wire/access/openid-api.ts';
import { readOpenIdRequest } from '../../src/wire/access/openid-requests.ts';
import { readTokenRequest } from '../../src/wire/access/token-requests.ts';
import { refuse } from '../refusals.ts';
import type { MonitorState } from './monitor-state.ts';
import { caughtUp, idIn } from './requests.ts';

export function tokenRoutes(state: MonitorState): Route[] {
  const list = async (): Promise<TokenListAnswer> => ({ tokens: await state.tokens.list() });
  return [
    {
      method: 'GET',
      path: '/v1/whoami',
      right: 'health',
      handle: async (request) => ({ status: 200, body: whoAmI(state, request) }),
    },
    {
      method: 'GET',
      path: '/v1/tokens',
      right: 'tokens',
      handle: async () => ({ status: 200, body: await list() }),
    },
    {
      method: 'POST',
      path: '/v1/tokens',
      right: 'tokens',
      handle: async ({ body, peer }) => ({
        status: 201,
        headers: { 'cache-control': 'no-store' },
        body: await state.tokens.create(readTokenRequest(body), nameOfCaller(peer)),
      }),
    },
    {
      method: 'DELETE',
      path: '/v1/tokens/:id',
      right: 'tokens',
      handle: (request) => revoke(state, request),
    },
    ...openIdRoutes(state),
  ];
}

function whoAmI({ cell }: MonitorState, { peer }: RouteRequest): WhoAmI {
  const name = nameOfCaller(peer);
  if (peer?.role === 'person') {
    const { scope, namespaces, endsAtMs } = peer;
    return { kind: 'token', name, cell, scope, namespaces, endsAtMs };
  }
  const kind = peer === null ? 'trusted' : 'certificate';
  return { kind, name, cell, scope: null, namespaces: null, endsAtMs: null };
}

async function revoke(state: MonitorState, { params }: RouteRequest): Promise<RouteReply> {
  const id = idIn(params['id'], 'id');
  const wasThere = await state.tokens.revoke(id);
  state.heldTokens.drop(id);
  if (!wasThere)
    throw refuse(404, 'no-such-token', `there is no token ${id}`, { hint: 'moorage token list' });
  return { status: 204 };
}

/** Whose other tokens count. */
function openIdRoutes(state: MonitorState): Route[] {
  const list = (): OpenIdListAnswer => ({ providers: state.openid.list() });
  return [
    {
      method: 'GET',
      path: '/v1/openid',
      right: 'tokens',
      handle: async () => ({ status: 200, body: list() }),
    },
    {
      method: 'PUT',
      path: '/v1/openid/:name',
      right: 'tokens',
      handle: (request) => setProvider(state, request),
    },
    {
      method: 'DELETE',
      path: '/v1/openid/:name',
      right: 'tokens',
      handle: (request) => removeProvider(state, request),
    },
  ];
}

async function setProvider(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const name = idIn(request.params['name'], 'name');
  const body = readOpenIdRequest(request.body);
  const { status, revision } = await state.openid.set(name, body, nameOfCaller(request.peer));
  await caughtUp(state, request, revision);
  return { status: 200, body: status };
}

async function removeProvider(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const name = idIn(request.params['name'], 'name');
  const revision = await state.openid.delete(name);
  if (revision === null)
    throw refuse(404, 'no-such-provider', `there is no OpenID provider ${name}`, {
      hint: 'moorage openid list',
    });
  await caughtUp(state, request, revision);
  return { status: 204 };
}
