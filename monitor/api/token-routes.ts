import { nameOfCaller } from '../../src/core/access/access.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { TokenListAnswer, WhoAmI } from '../../src/wire/access/token-api.ts';
import { readTokenRequest } from '../../src/wire/access/token-requests.ts';
import { refuse } from '../refusals.ts';
import type { MonitorState } from './monitor-state.ts';
import { idIn } from './requests.ts';

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
