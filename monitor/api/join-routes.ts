import { nameOfCaller } from '../../src/core/access/access.ts';
import type { Route } from '../../src/ports/http.ts';
import { readInvitationRequest, readJoinRequest } from '../../src/wire/join/join-requests.ts';
import type { InvitationListAnswer } from '../../src/wire/join/join.ts';
import { refuse } from '../refusals.ts';
import type { MonitorState } from './monitor-state.ts';
import { idIn } from './requests.ts';

export function joinRoutes(state: MonitorState): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/invitations',
      right: 'invite',
      handle: async () => {
        const body: InvitationListAnswer = { invitations: await state.invitations.list() };
        return { status: 200, body };
      },
    },
    {
      method: 'DELETE',
      path: '/v1/invitations/:id',
      right: 'invite',
      handle: async ({ params }) => {
        await state.invitations.withdraw(idIn(params['id'], 'id'));
        return { status: 204 };
      },
    },
    {
      method: 'POST',
      path: '/v1/invitations',
      right: 'invite',
      handle: async ({ body, peer }) => ({
        status: 201,
        headers: { 'cache-control': 'no-store' },
        body: await state.invitations.create(readInvitationRequest(body), nameOfCaller(peer)),
      }),
    },
    {
      method: 'POST',
      path: '/v1/join',
      right: 'join',
      handle: async ({ body, peer, signal }) => {
        const request = readJoinRequest(body);
        if (peer?.role !== 'invited')
          throw refuse(403, 'not-invited', 'only a machine that shows an invitation joins', {
            hint: 'moorage host join TOKEN --data FOLDER',
          });
        return { status: 200, body: await state.invitations.join(peer.id, request, signal) };
      },
    },
  ];
}
