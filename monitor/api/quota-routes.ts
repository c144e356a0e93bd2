import { sees } from '../../src/core/access/access.ts';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { QuotaListAnswer } from '../../src/wire/api/quota-api.ts';
import { readNamespace, readQuota } from '../../src/wire/api/quota-api.ts';
import type { MonitorState } from './monitor-state.ts';
import { listQuotas, removeQuota, setQuota } from '../limits/quotas.ts';

export function quotaRoutes(state: MonitorState): Route[] {
  const list = async (): Promise<QuotaListAnswer> => ({
    quotas: await listQuotas(state, allocationsOf(state)),
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

function* allocationsOf({ copy }: MonitorState): Generator<Allocation> {
  for (const [, { value }] of copy.allocations.rows()) yield value;
}
