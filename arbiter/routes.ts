import type { Route } from '../src/ports/http.ts';
import type { Metrics } from '../src/ports/telemetry.ts';
import { readFetchSliceRequest, readTicketRequest } from '../src/wire/api/arbiter-api.ts';
import { ProblemError } from '../src/wire/api/problem.ts';
import type { Arbiter } from './arbiter.ts';
import type { TracedTicketsDeps } from './traced-tickets.ts';
import { tracedTickets } from './traced-tickets.ts';

export interface ArbiterRoutesDeps extends TracedTicketsDeps {
  readonly metrics: Metrics;
}

export function arbiterRoutes(arbiter: Arbiter, deps: ArbiterRoutesDeps): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/tickets',
      right: 'tickets',
      handle: async ({ body, peer, headers }) => {
        const request = readTicketRequest(body, peer);
        const answer = await tracedTickets(deps, request, headers, (one) => arbiter.tickets(one));
        return { status: 200, body: answer };
      },
    },
    {
      method: 'POST',
      path: '/v1/fetch-slices',
      right: 'fetch-slices',
      handle: async ({ body }) => {
        const slice = arbiter.fetchSlice(readFetchSliceRequest(body));
        if (slice === null) throw notKept();
        return { status: 200, body: slice };
      },
    },
    {
      method: 'GET',
      path: '/v1/grants',
      right: 'grants',
      handle: async () => ({ status: 200, body: arbiter.grants() }),
    },
    {
      method: 'GET',
      path: '/livez',
      right: 'health',
      handle: async () => ({ status: 200, body: { status: 'ok' } }),
    },
    {
      method: 'GET',
      path: '/readyz',
      right: 'health',
      handle: async () => {
        const { missing } = arbiter;
        return { status: missing.length === 0 ? 200 : 503, body: { ready: missing.length === 0, missing } };
      },
    },
    {
      method: 'GET',
      path: '/metrics',
      right: 'metrics',
      handle: async ({ headers }) => ({ status: 200, ...(await deps.metrics.render(headers['accept'])) }),
    },
  ];
}

function notKept(): ProblemError {
  return new ProblemError({ status: 409, code: 'standby', detail: 'this arbiter does not keep the rates' });
}
