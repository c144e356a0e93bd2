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
  const mark = target.indexOf('?');
  const parts = (mark < 0 ? target : target.slice(0, mark)).split('/');
  let best: { route: R; params: Record<string, string> } | null = null;
  for (const route of routes) {
    if ((route.method ?? 'GET') !== method) continue;
    const params = paramsOf(partsOf(route.path), parts);
    if (params === null) continue;
    if (best === null || Object.keys(params).length < Object.keys(best.params).length)
      best = { route, params };
  }
  if (best === null) return null;
  const query = mark < 0 ? {} : Object.fromEntries(new URLSearchParams(target.slice(mark + 1)));
  return { route: best.route, values: { params: best.params, query } };
}

/** The parts of every pattern: bounded by the routes in the sources. */
const PARTS = new Map<string, readonly string[]>();

function partsOf(pattern: string): readonly string[] {
  const known = PARTS.get(pattern);
  if (known !== undefined) return known;
  const parts = pattern.split('/');
  PARTS.set(pattern, parts);
  return parts;
}

function paramsOf(pattern: readonly string[], parts: readonly string[]): Record<string, string> | null {
  if (pattern.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (let position = 0; position < pattern.length; position++) {
    const name = pattern[position] ?? '';
    if (!name.startsWith(':') && name !== parts[position]) return null;
  }
  for (let position = 0; position < pattern.length; position++) {
    const name = pattern[position] ?? '';
    if (!name.startsWith(':')) continue;
    const value = decoded(parts[position] ?? '');
    if (value === null) return null;
    params[name.slice(1)] = value;
  }
  return params;
}

/** @returns null for what is no text in the spelling of addresses: whoever sends it must not end the process */
function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
