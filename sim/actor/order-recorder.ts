import type { HostAgent } from '../../host-agent/agent.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { StartRequest, StopRequest } from '../../src/wire/api/host-api.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { History } from '../history/history.ts';
import type { OrderFact, OrderHead } from '../history/host-facts.ts';
import type { Machine } from '../machine/machine.ts';
import { ticketBodyOf } from './tickets.ts';

export interface RecorderParts {
  readonly machine: Machine;
  readonly history: History;
  readonly agent: HostAgent;
  readonly clock: Clock;
}

/** The agent's routes, with every order and its answer written into the history. */
export function recordOrders(parts: RecorderParts, routes: readonly Route[]): readonly Route[] {
  return routes.map((route) => {
    const orderOf = ORDERS[`${route.method} ${route.path}`];
    if (orderOf === undefined) return route;
    return { ...route, handle: (request) => record(parts, orderOf(headOf(parts), request), route, request) };
  });
}

async function record(
  parts: RecorderParts,
  order: OrderFact,
  route: Route,
  request: RouteRequest,
): Promise<RouteReply> {
  const answer = parts.history.ordered(order);
  try {
    const reply = await route.handle(request);
    answer({ status: reply.status, code: null, report: reportIn(reply.body) });
    return reply;
  } catch (error) {
    const problem = error instanceof ProblemError ? error.problem : { status: 500, code: 'internal' };
    answer({ status: problem.status, code: problem.code, report: null });
    throw error;
  }
}

type OrderOf = (head: OrderHead, request: RouteRequest) => OrderFact;

const ORDERS: Readonly<Record<string, OrderOf>> = {
  'PUT /v1/allocations/:id': (head, { body }) => {
    const request = body as StartRequest;
    const ticket = request.ticket === null ? null : ticketBodyOf(request.ticket);
    return { ...head, kind: 'start', request, ticket };
  },
  'POST /v1/allocations/:id/stop': (head, { params, body }) => ({
    ...head,
    kind: 'stop',
    id: params['id'] ?? '',
    request: body as StopRequest,
  }),
  'DELETE /v1/allocations/:id': (head, { params, query }) => ({
    ...head,
    kind: 'remove',
    id: params['id'] ?? '',
    commandId: query['commandId'] ?? '',
  }),
};

function headOf({ machine, agent, clock }: RecorderParts): OrderHead {
  const { host, bootId: boot } = machine;
  return { host, boot, incarnation: agent.host.incarnation, hostNowMs: clock.nowMs() };
}

/** A start answers `{ report }`, a stop the report itself, a removal nothing. */
function reportIn(body: unknown): AllocationReport | null {
  if (typeof body !== 'object' || body === null) return null;
  if ('report' in body) return body.report as AllocationReport;
  return 'state' in body ? (body as AllocationReport) : null;
}
