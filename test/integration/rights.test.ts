import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { undiciClient } from '../../src/adapters/http/client.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import { issue } from '../../src/adapters/pki/authority.ts';
import { isForAnybody } from '../../src/core/access/access.ts';
import type { IdentityRole } from '../../src/core/access/identity.ts';
import { IDENTITY_ROLES } from '../../src/core/access/identity.ts';
import type { Method } from '../../src/ports/http.ts';
import type { AuditAnswer } from '../../src/wire/access/audit-api.ts';
import { LOOPBACK_HOSTS, TestAuthority } from '../support/credentials.ts';
import { has, servedRoutes } from '../support/rights-table.ts';
import { CELL, REFUSALS, RightsCell, TIMEOUT_MS, shown, strangers } from '../support/rights-cell.ts';

let cell: RightsCell;

beforeAll(async () => {
  cell = await RightsCell.start();
});
afterAll(() => cell.close());

/** Credentials of an identity's making, with the key of the authority: for what no authority would issue. */
async function written(ofCell: string, ttlMs: number, role: IdentityRole = 'operator'): Promise<Credentials> {
  const folder = await cell.authority.issue(role, 'odd');
  const times = { nowMs: Date.now(), ttlMs, hosts: LOOPBACK_HOSTS };
  const { key, certificate } = await issue(
    await cell.authority.folder.keyPair(),
    { cell: ofCell, role, id: 'odd' },
    times,
  );
  writeFileSync(join(folder, 'identity.pem'), `${key}${certificate}\n`, { mode: 0o600 });
  return openCredentials(folder, null);
}

describe('I65 S4.13 who may call what, of every route of every role', () => {
  it('looks at all of them', () => {
    const routes = servedRoutes();
    expect(routes.length).toBeGreaterThan(50);
    expect(new Set(routes.map(({ server }) => server)).size).toBe(4);
  });

  it.each(IDENTITY_ROLES)('a certificate of the role %s', async (role) => {
    const credentials = await cell.authority.credentials(role, `some-${role}`);
    await cell.expectFates(credentials, ({ right }) => (has(role, right) ? 'let-in' : 'refused'));
  });

  it('a certificate of another authority', async () => {
    using other = await TestAuthority.of(CELL);
    const folder = await other.issue('operator', 'stranger');
    // It trusts our servers, so that they are the ones that refuse.
    writeFileSync(join(folder, 'ca.pem'), (await cell.authority.folder.keyPair()).certificate);
    await cell.expectFates(openCredentials(folder, null), strangers);
  });

  it('a certificate that has ended', async () => {
    await cell.expectFates(await written(CELL, -1_000), strangers);
  });

  it('a certificate of another cell, from the same authority', async () => {
    const stranger = await written('elsewhere', 3_600_000);
    // Its client would not take our servers for its own.
    const lax = { ...stranger, now: stranger.now, identity: { ...stranger.identity, cell: CELL } };
    await cell.expectFates(lax, ({ right }) => (isForAnybody(right) ? 'let-in' : 'refused'));
  });

  it('no certificate at all', async () => {
    const { certificate: ca } = await cell.authority.folder.keyPair();
    const seen = await Promise.all(
      servedRoutes().map(
        (route) =>
          new Promise<string>((resolve) => {
            const method = route.method === 'CHANNEL' ? 'GET' : route.method;
            const call = request(cell.urlOf(route), { method, ca, agent: false }, (answer) => {
              answer.resume();
              resolve(shown(route, REFUSALS.has(answer.statusCode ?? 0) ? 'refused' : 'let-in'));
            });
            call.once('error', () => resolve(shown(route, 'closed')));
            call.end();
          }),
      ),
    );
    expect(seen).toEqual(servedRoutes().map((route) => shown(route, strangers(route))));
  });
});

it('S4.13 every call that may change something is on record, by whom and whether it was refused', async () => {
  const http = undiciClient({ credentials: await cell.authority.credentials('operator', 'eve') });
  try {
    const sent = servedRoutes().filter(
      ({ server, method, right, reads }) =>
        server === 'monitor' && !/GET|CHANNEL/.test(method) && reads !== true && has('operator', right),
    );
    expect(sent.length).toBeGreaterThan(10);
    for (const [n, route] of sent.entries()) {
      const headers = { 'x-request-id': `call-${String(n)}` };
      const call = { method: route.method as Method, url: cell.urlOf(route), headers, timeoutMs: TIMEOUT_MS };
      const answer = await http.call(route.method === 'DELETE' ? call : { ...call, body: {} });
      const failed = (answer.body as { readonly code?: string } | undefined)?.code;
      const url = `${cell.addresses.monitor ?? ''}/v1/audit?by=operator/eve`;
      const { body } = await http.call({ method: 'GET', url, timeoutMs: TIMEOUT_MS });
      const last = (body as AuditAnswer).records.at(-1);
      expect([last?.requestId, last?.by, last?.refused], shown(route, 'let-in')).toEqual([
        headers['x-request-id'],
        'operator/eve',
        failed,
      ]);
    }
  } finally {
    await http.close();
  }
});
