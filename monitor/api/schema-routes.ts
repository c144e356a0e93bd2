import type { Route } from '../../src/ports/http.ts';
import { jobJsonSchema } from '../../src/wire/job-file/json-schema.ts';

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
