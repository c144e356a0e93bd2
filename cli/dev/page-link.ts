import { nodeClient } from '../../src/adapters/http/node-client.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { LocalCell } from '../local-cell/local-cell.ts';

const TOKEN_TTL_MS = 24 * 3_600_000;

/**
 * A link to the page that lets its user in: browsers have no certificate of the cell, so that it brings a token, which ends
 * after a day. It stands behind the `#`, where no server sees it.
 */
export async function pageLink(cell: LocalCell): Promise<string> {
  const [address = ''] = cell.monitors;
  if (cell.credentials === undefined) return `${address}/`;
  const http = nodeClient(cell.credentials);
  try {
    const client = new MonitorClient(http, { urls: cell.monitors, from: 'the development cell' });
    const request = { name: 'page', scope: 'operate', namespaces: null, ttlMs: TOKEN_TTL_MS } as const;
    return `${address}/#token=${(await client.createToken(request)).token}`;
  } finally {
    await http.close();
  }
}
