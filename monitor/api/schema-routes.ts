import type { Route } from '../../src/ports/http.ts';
import { jobJsonSchema } from '../../src/wire/job-file/json-schema.ts';
import type { OpenApi, ServedRoute } from '../../src/wire/openapi/openapi.ts';
import { openApiOf } from '../../src/wire/openapi/openapi.ts';
import type { MonitorState } from './monitor-state.ts';

/** What editors read to complete and check a job file. */
export function schemaRoutes(): Route[] {
  // Made once: it does not change while the process lives.
  let schema: Record<string, unknown> | null = null;
  return [
    {
      method: 'GET',
      path: '/v1/schema/job.json',
      right: 'health',
      handle: async () => ({
        status: 200,
        contentType: 'application/schema+json',
        body: (schema ??= jobJsonSchema()),
      }),
    },
  ];
}

/**
 * What programs read to call this monitor.
 * @param served every other route of it, its channels too
 */
export function openApiRoute(state: MonitorState, served: readonly ServedRoute[]): Route {
  // As above.
  let made: OpenApi | null = null;
  const route: Route = {
    method: 'GET',
    path: '/v1/openapi.json',
    right: 'health',
    handle: async () => ({
      status: 200,
      contentType: 'application/vnd.oai.openapi+json; version=3.1',
      body: (made ??= openApiOf([...served, route], state.version)),
    }),
  };
  return route;
}
