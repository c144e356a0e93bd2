interface Matchable {
  readonly method?: string;
  readonly path: string;
}

interface RouteMatch<R> {
  readonly route: R;
  readonly values: {
    readonly params: Readonly<Record<string, string>>;
    readonly query: Readonly<Record<string, string>>;
  };
}

/**
 * The route for a path such as `/v1/allocations/a1?follow=true`; a fixed part wins over a parameter.
 * @returns null when there is none
 */
export function matchRoute<R extends Matchable>(
  routes: readonly R[],
  method: string,
  target: string,
): RouteMatch<R> | null {
  const url = new URL(target, 'http://memory');
  const parts = url.pathname.split('/');
  let best: { route: R; params: Record<string, string> } | null = null;
  for (const route of routes) {
    if ((route.method ?? 'GET') !== method) continue;
    const params = paramsOf(route.path.split('/'), parts);
    if (params === null) continue;
    if (best === null || Object.keys(params).length < Object.keys(best.params).length)
      best = { route, params };
  }
  if (best === null) return null;
  return { route: best.route, values: { params: best.params, query: Object.fromEntries(url.searchParams) } };
}

function paramsOf(pattern: readonly string[], parts: readonly string[]): Record<string, string> | null {
  if (pattern.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [position, name] of pattern.entries()) {
    const part = parts[position] ?? '';
    if (name.startsWith(':')) params[name.slice(1)] = decodeURIComponent(part);
    else if (name !== part) return null;
  }
  return params;
}
