import { arbiterRoutes } from '../../arbiter/routes.ts';
import { hostChannels, hostRoutes, ORDERS_RIGHT } from '../../host-agent/api/api.ts';
import { monitorRoutes } from '../../monitor/api/api.ts';
import { attachChannels } from '../../monitor/api/attach-routes.ts';
import { schedulerRoutes } from '../../schedulers/api.ts';
import { withBatches } from '../../src/adapters/http/batch-route.ts';
import { silentLog, silentMetrics } from '../../src/adapters/telemetry/silent.ts';
import type { Right } from '../../src/core/access/access.ts';
import { mayUse } from '../../src/core/access/access.ts';
import type { Person, Scope } from '../../src/core/access/person.ts';
import { SCOPES } from '../../src/core/access/person.ts';
import type { IdentityRole } from '../../src/core/access/identity.ts';
import { STORE_USERS, storeAreas } from '../../src/core/access/store-rights.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { IDENTITY_ROLES } from '../../src/core/access/identity.ts';

export type ServerRole = 'monitor' | 'agent' | 'scheduler' | 'arbiter';

export interface ServedRoute {
  readonly server: ServerRole;
  /** `CHANNEL` for those of WebSocket. */
  readonly method: string;
  readonly path: string;
  readonly right: Right;
  /** It changes nothing, though it has a body. */
  readonly reads?: true;
}

/** What the lists of routes are made with; no route is called, so nothing of it is touched. */
const UNTOUCHED = {} as never;

/** Every route of every role, from the functions that make them for the real servers. */
export function servedRoutes(): readonly ServedRoute[] {
  const host = {
    prefix: '',
    find: () => undefined,
    ready: () => false,
    metrics: silentMetrics,
  };
  const lists = {
    monitor: [monitorRoutes(UNTOUCHED, null), attachChannels(UNTOUCHED, UNTOUCHED)],
    agent: [withBatches(hostRoutes(host), ORDERS_RIGHT, silentLog), hostChannels(host)],
    scheduler: [schedulerRoutes(UNTOUCHED, UNTOUCHED)],
    arbiter: [arbiterRoutes(UNTOUCHED, UNTOUCHED)],
  } as const;
  return Object.entries(lists).flatMap(([server, made]) =>
    made.flat().map((route) => ({
      ...{ server: server as ServerRole, path: route.path, right: route.right },
      method: 'method' in route ? route.method : 'CHANNEL',
      ...('reads' in route && route.reads === true ? { reads: true as const } : {}),
    })),
  );
}

const SERVERS: Readonly<Record<ServerRole, string>> = {
  monitor: 'a monitor',
  agent: 'a host-agent',
  scheduler: 'a scheduler',
  arbiter: 'an arbiter',
};

/** The table of `docs/security.md`, in Markdown. */
export function rightsTable(): string {
  const roles = IDENTITY_ROLES.filter((role) => role !== 'etcd');
  const holders = [...roles, ...SCOPES.map((scope) => `token, OpenID: ${scope}`)];
  const lines = [
    row(['at', 'route', 'right', ...holders]),
    row(['---', '---', '---', ...holders.map(() => '---')]),
  ];
  for (const route of servedRoutes()) {
    const { server, method, path, right } = route;
    const allowed = [...roles.map((role) => has(role, right)), ...SCOPES.map((scope) => lets(scope, route))];
    const marks = allowed.map((is) => (is ? 'yes' : '–'));
    lines.push(row([SERVERS[server], `\`${method} ${path}\``, right, ...marks]));
  }
  return `${lines.join('\n')}\n`;
}

/** The table of the store's users in `docs/security.md`. */
export function storeTable(): string {
  const keys = cellKeys('<cell>');
  const lines = [
    row(['keys that begin with', ...STORE_USERS]),
    row(['---', ...STORE_USERS.map(() => '---')]),
  ];
  for (const { prefix, access, own } of storeAreas(keys)) {
    const name =
      prefix.startsWith(keys.root) && prefix !== keys.root ? prefix.slice(keys.root.length) : prefix;
    const cells = STORE_USERS.map((user) => `${access[user] ?? '–'}${own === user ? ' ¹' : ''}`);
    lines.push(row([`\`${name}\``, ...cells]));
  }
  return `${lines.join('\n')}\n`;
}

export function has(role: IdentityRole, right: Right): boolean {
  return mayUse({ cell: 'c', role, id: 'x' }, right);
}

/** Monitors alone take tokens, of the cell's own and of OpenID providers alike. */
export function lets(scope: Scope, { server, right }: ServedRoute): boolean {
  const own = mayUse(somebody(scope, null), right);
  const other = mayUse({ ...somebody(scope, null), issuer: 'https://login.example.org' }, right);
  if (own !== other) throw new Error(`${right} is not the same right with a token of another maker`);
  return server === 'monitor' && own;
}

export function somebody(scope: Scope, namespaces: readonly string[] | null): Person {
  return { role: 'person', id: 'x', name: 'x', scope, namespaces, endsAtMs: 0 };
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
