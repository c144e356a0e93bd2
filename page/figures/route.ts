/** The view that an address means, after its `#`. */
export interface PageRoute {
  readonly view: ViewName;
  /** What stands behind the view's name: namespace and job, a host. */
  readonly parts: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

export const VIEWS = ['cell', 'jobs', 'hosts', 'run', 'events', 'conflicts', 'quotas'] as const;
export type ViewName = (typeof VIEWS)[number];

export const HOME: PageRoute = { view: 'cell', parts: [], query: {} };

/** An address that means nothing means the cell. */
export function routeOf(hash: string): PageRoute {
  const [path = '', search = ''] = hash.replace(/^#?\/?/, '').split('?', 2);
  const [name, ...parts] = path.split('/').filter((part) => part !== '');
  const view = VIEWS.find((one) => one === name);
  if (view === undefined) return HOME;
  return { view, parts: parts.map(decoded), query: Object.fromEntries(new URLSearchParams(search)) };
}

export function hashOf(
  view: ViewName,
  parts: readonly string[] = [],
  query: Readonly<Record<string, string>> = {},
): string {
  const search = new URLSearchParams(query).toString();
  return `#/${[view, ...parts.map(encodeURIComponent)].join('/')}${search === '' ? '' : `?${search}`}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The token that a link brings after its `#`, which no server sees; null: none. */
export function tokenIn(hash: string): string | null {
  return /^#token=([\w.-]{1,256})$/.exec(hash)?.[1] ?? null;
}
