import type { Route } from '../src/ports/http.ts';
import type { Metrics } from '../src/ports/telemetry.ts';
import { readTicketRequest } from '../src/wire/api/arbiter-api.ts';
import type { Arbiter } from './arbiter.ts';

export function arbiterRoutes(arbiter: Arbiter, metrics: Metrics): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/tickets',
      right: 'tickets',
      handle: async ({ body, peer }) => ({
        status: 200,
        body: await arbiter.tickets(readTicketRequest(body, peer)),
      }),
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
      handle: async () => ({
        status: 200,
        contentType: 'text/plain; version=0.0.4',
        body: await metrics.render(),
      }),
    },
  ];
}
