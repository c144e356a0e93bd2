import type { Route, RouteReply } from '../../src/ports/http.ts';
import { jobJsonSchema } from '../../src/wire/job-file/json-schema.ts';
import { DOCS_STYLE, docsPage } from '../../src/wire/openapi/docs-page.ts';
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
 * What programs and people read to call this monitor.
 * @param served every other route of it, its channels too
 */
export function openApiRoutes(state: MonitorState, served: readonly ServedRoute[]): Route[] {
  // As above.
  let made: OpenApi | null = null;
  let page: string | null = null;
  const document = (): OpenApi => (made ??= openApiOf([...served, ...routes], state.version));
  const routes: Route[] = [
    {
      method: 'GET',
      path: '/v1/openapi.json',
      right: 'health',
      handle: async () => ({
        status: 200,
        contentType: 'application/vnd.oai.openapi+json; version=3.1',
        body: document(),
      }),
    },
    {
      method: 'GET',
      path: '/docs',
      right: 'page',
      handle: async () => textReply('text/html; charset=utf-8', (page ??= docsPage(document(), STYLE_PATH))),
    },
    {
      method: 'GET',
      path: STYLE_PATH,
      right: 'page',
      handle: async () => textReply('text/css; charset=utf-8', DOCS_STYLE),
    },
  ];
  return routes;
}

const STYLE_PATH = '/docs/style.css';

/** The page runs nothing and asks nobody: its style is all that it loads. */
const DOCS_POLICY =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function textReply(contentType: string, text: string): RouteReply {
  return {
    status: 200,
    headers: {
      'cache-control': 'no-cache',
      'content-security-policy': DOCS_POLICY,
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
    },
    contentType,
    stream: once(text),
  };
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}
