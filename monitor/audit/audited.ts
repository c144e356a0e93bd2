import { nameOfCaller } from '../../src/core/access/access.ts';
import type { AuditRecord } from '../../src/core/access/audit.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { ChannelRoute, Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { REQUEST_ID_HEADER } from '../../src/wire/access/audit-api.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { Act, ActState } from './acts.ts';
import { actOf } from './acts.ts';
import type { Audit } from './audit.ts';

export interface AuditedState extends ActState {
  readonly audit: Audit;
  readonly log: Log;
}

/** What a client may name its request. */
const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/;

/** The route, with a record before each request that may change something. Reads leave none. */
export function audited(state: AuditedState, route: Route): Route {
  if (route.method === 'GET' || route.reads === true) return route;
  const act = actOf(route.method, route.path);
  const handle = async (request: RouteRequest): Promise<RouteReply> => {
    const { record, requestId } = await begun(state, request, act(request, state), route.right === 'enter');
    // What it does, and logs, has the same id.
    const reply = await done(state, record, () => route.handle(named(request, requestId)));
    return { ...reply, headers: { [REQUEST_ID_HEADER]: requestId, ...reply.headers } };
  };
  return { ...route, handle };
}

function named(request: RouteRequest, requestId: string): RouteRequest {
  const { params, query, headers, body, peer } = request;
  return {
    ...{ params, query, headers: { ...headers, [REQUEST_ID_HEADER]: requestId }, body, peer },
    // As it is: making one costs, and most routes never ask for it.
    get signal() {
      return request.signal;
    },
  };
}

export function auditedChannel(state: AuditedState, route: ChannelRoute): ChannelRoute {
  const act = actOf('CHANNEL', route.path);
  const open: ChannelRoute['open'] = async (request) => {
    const { record } = await begun(state, request, act(request, state), true);
    return await done(state, record, () => route.open(request));
  };
  return { ...route, open };
}

interface Begun {
  /** null: it could not be written, and does not hold the request up. */
  readonly record: AuditRecord | null;
  readonly requestId: string;
}

/**
 * @param needsNoStore entering a task does not: then a store that is away leaves the record to this monitor's log
 * @throws when the record is not written: then nothing is done
 */
async function begun(
  { audit, log }: AuditedState,
  { peer, headers }: RouteRequest,
  act: Act,
  needsNoStore: boolean,
): Promise<Begun> {
  const id = audit.newId();
  const given = headers[REQUEST_ID_HEADER] ?? '';
  const requestId = REQUEST_ID.test(given) ? given : id;
  const name = peer?.role === 'person' ? { name: peer.name } : {};
  const about = { id, requestId, by: nameOfCaller(peer), ...name, ...act };
  try {
    return { record: await audit.write(about), requestId };
  } catch (error) {
    const isAway = error instanceof StoreError || error instanceof ProblemError;
    if (!isAway || !needsNoStore) throw error;
    log.error({ audit: about, error }, 'the audit could not be written: this line is the record');
    return { record: null, requestId };
  }
}

async function done<T>(
  { audit }: AuditedState,
  record: AuditRecord | null,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // Of anything else it is not known that nothing was done.
    if (record !== null && error instanceof ProblemError && error.problem.status < 500)
      await audit.refused(record, error.problem.code);
    throw error;
  }
}
