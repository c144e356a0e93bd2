import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runArbiter } from '../../arbiter/main.ts';
import { runAgent } from '../../host-agent/main.ts';
import { runMonitor } from '../../monitor/main.ts';
import { runScheduler } from '../../schedulers/main.ts';
import { startEtcd } from '../../src/adapters/etcd/server/server.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import { webSocketClient } from '../../src/adapters/http/channel-client.ts';
import { undiciClient } from '../../src/adapters/http/client.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import { issue } from '../../src/adapters/pki/authority.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { makeKeyFiles } from '../../src/adapters/tickets/key-files.ts';
import type { IdentityRole } from '../../src/core/access/identity.ts';
import { IDENTITY_ROLES } from '../../src/core/access/identity.ts';
import type { Method } from '../../src/ports/http.ts';
import { HttpError } from '../../src/ports/http.ts';
import { LOOPBACK_HOSTS, TestAuthority } from '../support/credentials.ts';
import { PLAIN_SHIM } from '../support/real-host.ts';
import type { ServedRoute, ServerRole } from '../support/rights-table.ts';
import { has, servedRoutes } from '../support/rights-table.ts';

const CELL = 'rights';
const TIMEOUT_MS = 60_000;
const LISTEN = { host: '127.0.0.1', port: 0 };

/** What came of a call: `refused`, by its rights; `closed`, before any route was chosen; `let-in` to the route. */
type Fate = 'refused' | 'closed' | 'let-in';

const closers: (() => Promise<unknown> | void)[] = [];
const addresses: Partial<Record<ServerRole, string>> = {};
let authority: TestAuthority;

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-rights-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  authority = await TestAuthority.of(CELL);
  closers.push(() => authority[Symbol.dispose]());
  const { path: binary } = await findEtcd({ env: process.env });
  const store = await startEtcd({
    ...{ binary, dataFolder: join(folder, 'etcd'), unsafeNoFsync: true },
    credentials: await authority.credentials('etcd', 'etcd-1'),
  });
  closers.push(() => store.stop());
  const common = { cell: CELL, etcd: [store.clientUrl], listen: LISTEN, version: '0', log: silentLog };
  const reach = async (role: IdentityRole, id: string) => ({
    reach: { credentials: await authority.credentials(role, id) },
  });
  const { signingKeyFile, pinnedKeysFile } = await makeKeyFiles(join(folder, 'keys'));
  const add = (role: ServerRole, running: { address: string; stop: () => Promise<void> }): void => {
    addresses[role] = running.address;
    closers.push(() => running.stop());
  };
  add('monitor', await runMonitor({ ...common, id: 'monitor-1', ...(await reach('monitor', 'monitor-1')) }));
  const arbiter = await reach('arbiter', 'arbiter-1');
  add('arbiter', await runArbiter({ ...common, id: 'arbiter-1', signingKeyFile, ...arbiter }));
  add(
    'scheduler',
    await runScheduler({
      ...{ ...common, id: 'batch-1', kind: 'batch', enforcement: true },
      ...(await reach('scheduler', 'batch-1')),
    }),
  );
  add(
    'agent',
    await runAgent({
      ...{ ...common, id: 'host-1', pinnedKeysFile, shim: PLAIN_SHIM, stateFolder: join(folder, 'host-1') },
      ...(await reach('agent', 'host-1')),
    }),
  );
});

afterAll(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function urlOf({ server, path }: ServedRoute): string {
  return `${addresses[server] ?? ''}${path.replaceAll(/:\w+/g, 'nobodys')}`;
}

/** A call with nothing in it: who is let in learns that something is missing, and changes nothing. */
async function fateOf(route: ServedRoute, credentials: Credentials): Promise<Fate> {
  const http = undiciClient({ credentials });
  const over = new AbortController();
  try {
    const url = urlOf(route);
    if (route.method === 'CHANNEL') {
      const answer = await webSocketClient(credentials).open({ url, timeoutMs: TIMEOUT_MS });
      if (answer.kind === 'open') return 'let-in';
      return answer.answer.status === 403 ? 'refused' : 'let-in';
    }
    const { status } = await http.stream({
      ...{ method: route.method as Method, url, timeoutMs: TIMEOUT_MS, idleTimeoutMs: TIMEOUT_MS },
      signal: over.signal,
    });
    return status === 403 ? 'refused' : 'let-in';
  } catch (error) {
    if (error instanceof HttpError) return 'closed';
    throw error;
  } finally {
    over.abort();
    await http.close();
  }
}

function shown(route: ServedRoute, fate: Fate): string {
  return `${route.server} ${route.method} ${route.path}: ${fate}`;
}

async function expectFates(credentials: Credentials, expected: (route: ServedRoute) => Fate): Promise<void> {
  const routes = servedRoutes();
  const seen: string[] = [];
  for (const route of routes) seen.push(shown(route, await fateOf(route, credentials)));
  expect(seen).toEqual(routes.map((route) => shown(route, expected(route))));
}

/** Credentials of an identity's making, with the key of the authority: for what no authority would issue. */
async function written(cell: string, ttlMs: number, role: IdentityRole = 'operator'): Promise<Credentials> {
  const folder = await authority.issue(role, 'odd');
  const times = { nowMs: Date.now(), ttlMs, hosts: LOOPBACK_HOSTS };
  const { key, certificate } = await issue(
    await authority.folder.keyPair(),
    { cell, role, id: 'odd' },
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
    const credentials = await authority.credentials(role, `some-${role}`);
    await expectFates(credentials, ({ right }) => (has(role, right) ? 'let-in' : 'refused'));
  });

  it('a certificate of another authority', async () => {
    using other = await TestAuthority.of(CELL);
    const folder = await other.issue('operator', 'stranger');
    // It trusts our servers, so that they are the ones that refuse.
    writeFileSync(join(folder, 'ca.pem'), (await authority.folder.keyPair()).certificate);
    await expectFates(openCredentials(folder, null), () => 'closed');
  });

  it('a certificate that has ended', async () => {
    await expectFates(await written(CELL, -1_000), () => 'closed');
  });

  it('a certificate of another cell, from the same authority', async () => {
    const stranger = await written('elsewhere', 3_600_000);
    // Its client would not take our servers for its own.
    const lax = { ...stranger, now: stranger.now, identity: { ...stranger.identity, cell: CELL } };
    await expectFates(lax, () => 'refused');
  });

  it('no certificate at all', async () => {
    const { certificate: ca } = await authority.folder.keyPair();
    const seen = await Promise.all(
      servedRoutes().map(
        (route) =>
          new Promise<string>((resolve) => {
            const method = route.method === 'CHANNEL' ? 'GET' : route.method;
            const call = request(urlOf(route), { method, ca, agent: false }, (answer) => {
              answer.resume();
              resolve(shown(route, answer.statusCode === 403 ? 'refused' : 'let-in'));
            });
            call.once('error', () => resolve(shown(route, 'closed')));
            call.end();
          }),
      ),
    );
    expect(seen).toEqual(servedRoutes().map((route) => shown(route, 'closed')));
  });
});
