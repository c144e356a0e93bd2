/**
 * The page that people see, for anybody: what it shows, it asks for with its user's token. Its files are those of `page/`, as
 * the build made them.
 */
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { PageFiles } from '../../src/ports/page.ts';
import { PAGE_INDEX } from '../../src/ports/page.ts';
import { refuse } from '../refusals.ts';
import { monitorsOf } from '../view/monitors.ts';
import type { CellCopy } from '../view/view.ts';

interface PageState {
  readonly page: PageFiles;
  readonly copy: Pick<CellCopy, 'roles'>;
}

export function pageRoutes(state: PageState): Route[] {
  return [
    {
      method: 'GET',
      path: '/',
      right: 'page',
      handle: async (request) => fileReply(state, request, PAGE_INDEX, indexHeaders(state)),
    },
    {
      method: 'GET',
      path: '/page/:file',
      right: 'page',
      handle: async (request) => fileReply(state, request, request.params['file'] ?? '', FILE_HEADERS),
    },
  ];
}

/** Its name changes with what it holds. */
const FILE_HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'cross-origin-resource-policy': 'same-origin',
};

/** Nothing runs that is not a file of this page, and nothing is called but the cell's monitors. */
function indexHeaders({ copy }: PageState): Readonly<Record<string, string>> {
  // Of another origin a terminal's channel is named apart.
  const others = monitorsOf(copy)
    .map(({ address }) => new URL(address).origin)
    .flatMap((origin) => [origin, origin.replace(/^http/, 'ws')]);
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src ${["'self'", ...others].join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return {
    'cache-control': 'no-cache',
    'content-security-policy': policy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
  };
}

function fileReply(
  { page }: PageState,
  { headers }: RouteRequest,
  name: string,
  more: Readonly<Record<string, string>>,
): RouteReply {
  const file = page.get(name);
  if (file === undefined)
    throw refuse(404, 'not-found', 'there is no such file of the page', {
      hint: page.size === 0 ? 'npm run build makes the page' : 'load the page again',
    });
  const asGzip = /\bgzip\b/.test(headers['accept-encoding'] ?? '');
  const bytes = asGzip ? file.gzip : file.plain;
  return {
    status: 200,
    headers: {
      ...{ ...more, vary: 'accept-encoding', 'content-length': String(bytes.length) },
      ...(asGzip ? { 'content-encoding': 'gzip' } : {}),
    },
    contentType: file.contentType,
    stream: once(bytes),
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
