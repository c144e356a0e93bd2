import { nameOfCaller, sees } from '../../src/core/access/access.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { HostKeyAnswer, SecretListAnswer } from '../../src/wire/access/secret-api.ts';
import { readSecretRequest } from '../../src/wire/access/token-requests.ts';
import { refuse } from '../refusals.ts';
import type { MonitorState } from './monitor-state.ts';
import { idIn } from './requests.ts';
import { checkSubmits } from './sight.ts';

/** Who may submit jobs in a namespace sets its secrets, and lets jobs there use them. */
export function secretRoutes(state: MonitorState): Route[] {
  return [
    { method: 'GET', path: '/v1/secrets', right: 'read', handle: (request) => list(state, request) },
    { method: 'GET', path: '/v1/secrets-key', right: 'read', handle: async () => hostKey(state) },
    {
      method: 'PUT',
      path: '/v1/secrets/:namespace/:name',
      right: 'submit',
      handle: (request) => set(state, request),
    },
    {
      method: 'DELETE',
      path: '/v1/secrets/:namespace/:name',
      right: 'submit',
      handle: (request) => remove(state, request),
    },
  ];
}

async function list({ secrets, keys }: MonitorState, { query, peer }: RouteRequest): Promise<RouteReply> {
  const { namespace } = query;
  const prefix = namespace === undefined ? keys.secrets : keys.secretsOf(idIn(namespace, 'namespace'));
  const all = await secrets.list(prefix);
  const body: SecretListAnswer = { secrets: all.filter((one) => sees(peer, one.namespace)) };
  return { status: 200, body };
}

function hostKey({ cell, hostKey: certificateNow }: MonitorState): RouteReply {
  const certificate = certificateNow();
  if (certificate === null)
    throw refuse(404, 'no-host-key', "this monitor's credentials have no certificate of the hosts' key", {
      hint: 'moorage pki issue writes it, for monitors and hosts',
    });
  const body: HostKeyAnswer = { cell, certificate };
  return { status: 200, body };
}

async function set(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const { namespace, name } = named(request);
  const { sealed } = readSecretRequest(request.body);
  await state.secrets.set({ namespace, name, sealed, setBy: nameOfCaller(request.peer) });
  return { status: 204 };
}

async function remove(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const { namespace, name } = named(request);
  if (await state.secrets.delete(namespace, name)) return { status: 204 };
  throw refuse(404, 'no-such-secret', `namespace ${namespace} has no secret ${name}`, {
    hint: 'moorage secret list',
  });
}

/** @throws ProblemError when it is not the caller's to change */
function named({ params, peer }: RouteRequest): { readonly namespace: string; readonly name: string } {
  const namespace = idIn(params['namespace'], 'namespace');
  checkSubmits(peer, namespace);
  return { namespace, name: idIn(params['name'], 'name') };
}
