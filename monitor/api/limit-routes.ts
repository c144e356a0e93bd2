import { sees } from '../../src/core/access/access.ts';
import { isClaimName } from '../../src/core/cell/volume.ts';
import type { VolumeListAnswer } from '../../src/wire/api/volume-api.ts';
import { refuse } from '../refusals.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import { readSharedName, readSharedResource } from '../../src/wire/api/cell-api.ts';
import { readBudgetPolicy } from '../../src/wire/budgets/budgets.ts';
import type { QuotaListAnswer } from '../../src/wire/api/quota-api.ts';
import { readNamespace, readQuota } from '../../src/wire/api/quota-api.ts';
import { budgetsIn, setBudgets } from '../limits/budgets.ts';
import { listQuotas, removeQuota, setQuota } from '../limits/quotas.ts';
import { deleteVolume, volumeList } from '../limits/volumes.ts';
import { removeShared, setShared, sharedStatus } from '../limits/shared-resources.ts';
import type { MonitorState } from './monitor-state.ts';
import { caughtUp, idIn } from './requests.ts';
import { checkSubmits } from './sight.ts';

/** What there is of what hosts share, what namespaces may use, and what the cell may do of its own accord. */
export function limitRoutes(state: MonitorState): Route[] {
  return [...sharedRoutes(state), ...quotaRoutes(state), ...volumeRoutes(state), ...budgetRoutes(state)];
}

function sharedRoutes(state: MonitorState): Route[] {
  const set = async (request: RouteRequest): Promise<RouteReply> => {
    const resource = readSharedResource(request.params['name'], request.body);
    await caughtUp(state, request, await setShared(state, resource));
    return { status: 200, body: sharedStatus(state.copy, resource.name) };
  };
  const remove = async (request: RouteRequest): Promise<RouteReply> => {
    await caughtUp(state, request, await removeShared(state, readSharedName(request.params['name'])));
    return { status: 204 };
  };
  return [
    { method: 'PUT', path: '/v1/shared/:name', right: 'limits', handle: set },
    { method: 'DELETE', path: '/v1/shared/:name', right: 'limits', handle: remove },
  ];
}

function budgetRoutes(state: MonitorState): Route[] {
  const set = async (request: RouteRequest): Promise<RouteReply> => {
    await caughtUp(state, request, await setBudgets(state, readBudgetPolicy(request.body)));
    return { status: 200, body: budgetsIn(state) };
  };
  const list = async (): Promise<RouteReply> => ({ status: 200, body: budgetsIn(state) });
  return [
    { method: 'GET', path: '/v1/budgets', right: 'read', handle: list },
    { method: 'PUT', path: '/v1/budgets', right: 'operate', handle: set },
  ];
}

function volumeRoutes(state: MonitorState): Route[] {
  const list = async ({ query, peer }: RouteRequest): Promise<RouteReply> => {
    const { namespace } = query;
    const isAsked = (of: string): boolean => (namespace === undefined || of === namespace) && sees(peer, of);
    const body: VolumeListAnswer = {
      volumes: volumeList(state.copy).filter((volume) => isAsked(volume.namespace)),
    };
    return { status: 200, body };
  };
  const remove = async (request: RouteRequest): Promise<RouteReply> => {
    const { params, peer, query } = request;
    const namespace = idIn(params['namespace'], 'namespace');
    checkSubmits(peer, namespace);
    const claim = params['claim'] ?? '';
    if (!isClaimName(claim)) throw refuse(400, 'bad-request', 'that is no name of a volume');
    const isGivenUp = query['lost'] === 'true';
    await caughtUp(state, request, await deleteVolume(state, { namespace, claim }, isGivenUp));
    return { status: 204 };
  };
  return [
    { method: 'GET', path: '/v1/volumes', right: 'read', handle: list },
    { method: 'DELETE', path: '/v1/volumes/:namespace/:claim', right: 'submit', handle: remove },
  ];
}

function quotaRoutes(state: MonitorState): Route[] {
  const list = async (): Promise<QuotaListAnswer> => ({
    quotas: await listQuotas(state, state.copy.allAllocations()),
  });
  const set = async ({ params, body }: RouteRequest): Promise<RouteReply> => {
    const quota = readQuota(params['namespace'], body);
    await setQuota(state, quota);
    const now = await list();
    return { status: 200, body: now.quotas.find(({ namespace }) => namespace === quota.namespace) };
  };
  const remove = async ({ params }: RouteRequest): Promise<RouteReply> => {
    await removeQuota(state, readNamespace(params['namespace']));
    return { status: 204 };
  };
  return [
    {
      method: 'GET',
      path: '/v1/quotas',
      right: 'read',
      handle: async ({ peer }) => {
        const { quotas } = await list();
        return { status: 200, body: { quotas: quotas.filter(({ namespace }) => sees(peer, namespace)) } };
      },
    },
    { method: 'PUT', path: '/v1/quotas/:namespace', right: 'limits', handle: set },
    { method: 'DELETE', path: '/v1/quotas/:namespace', right: 'limits', handle: remove },
  ];
}
