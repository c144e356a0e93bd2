import type { ScrapeTargets } from '../../src/wire/api/cell-api.ts';
import type { CellCopy } from './view.ts';

/** Where the metrics of every role and host are, by role and id. */
export function scrapeTargets({ roles, hosts }: Pick<CellCopy, 'roles' | 'hosts'>): ScrapeTargets {
  const found = [
    ...[...roles.rows()].map(([, { value }]) => ({ ...value, role: value.kind })),
    ...[...hosts.rows()].map(([id, { value }]) => ({ id, address: value.address, role: 'agent' as const })),
  ];
  return found
    .filter(({ address }) => URL.canParse(address))
    .map(({ role, id, address }) => {
      const { host, pathname } = new URL(address);
      // Hollow hosts share a server.
      const path = pathname === '/' ? {} : { __metrics_path__: `${pathname}/metrics` };
      return { targets: [host], labels: { role, id, ...path } };
    })
    .sort(({ labels: a }, { labels: b }) => a.role.localeCompare(b.role) || a.id.localeCompare(b.id));
}
