import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { CellStatus } from '../../src/wire/api/cell-api.ts';
import { readSharedName, readSharedResource } from '../../src/wire/api/cell-api.ts';
import type { MonitorState } from './monitor-state.ts';
import { caughtUp } from './requests.ts';
import { removeShared, setShared, sharedList, sharedStatus } from '../limits/shared-resources.ts';
import type { StoreKeeper } from '../store/store.ts';
import { monitorsOf } from '../view/monitors.ts';

/** @param keeper null: another program maintains the store */
export function cellRoutes(state: MonitorState, keeper: StoreKeeper | null): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/cell',
      right: 'read',
      handle: async () => ({ status: 200, body: await cellStatus(state, keeper) }),
    },
    { method: 'PUT', path: '/v1/shared/:name', right: 'limits', handle: (request) => set(state, request) },
    {
      method: 'DELETE',
      path: '/v1/shared/:name',
      right: 'limits',
      handle: (request) => remove(state, request),
    },
  ];
}

async function cellStatus(state: MonitorState, keeper: StoreKeeper | null): Promise<CellStatus> {
  const { copy } = state;
  return {
    hosts: { known: copy.hosts.size, alive: copy.alive.size },
    allocations: copy.allocations.size,
    jobs: copy.jobs.size,
    store: (await keeper?.status(state.store)) ?? null,
    shared: sharedList(copy),
    monitors: monitorsOf(copy),
  };
}

async function set(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const resource = readSharedResource(request.params['name'], request.body);
  await caughtUp(state, request, await setShared(state, resource));
  return { status: 200, body: sharedStatus(state.copy, resource.name) };
}

async function remove(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  await caughtUp(state, request, await removeShared(state, readSharedName(request.params['name'])));
  return { status: 204 };
}
