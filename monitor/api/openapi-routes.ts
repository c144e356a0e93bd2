import type { Route } from '../../src/ports/http.ts';
import type { OpenApi, ServedRoute } from '../../src/wire/openapi/openapi.ts';
import { openApiOf } from '../../src/wire/openapi/openapi.ts';
import type { MonitorState } from './monitor-state.ts';

/** @param served every other route of this monitor, its channels too */
export function openApiRoute(state: MonitorState, served: readonly ServedRoute[]): Route {
  // Made once: it does not change while the process lives.
  let made: OpenApi | null = null;
  const route = { method: 'GET', path: '/v1/openapi.json', right: 'health' } as const;
  return {
    ...route,
    handle: async () => ({
      status: 200,
      contentType: 'application/vnd.oai.openapi+json; version=3.1',
      body: (made ??= openApiOf([...served, route], state.version)),
    }),
  };
}
