import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
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
import { HostClient } from '../../src/clients/host-client.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { IdentityRole } from '../../src/core/access/identity.ts';
import { IDENTITY_ROLES } from '../../src/core/access/identity.ts';
import { isTerminal } from '../../src/core/host/states.ts';
import type { HttpClient, Method } from '../../src/ports/http.ts';
import { HttpError } from '../../src/ports/http.ts';
import { requestFor } from '../../src/wire/api/arbiter-api.ts';
import { LOOPBACK_HOSTS, TestAuthority } from '../support/credentials.ts';
import { someStart, someStop } from '../support/host-orders.ts';
import { PLAIN_SHIM } from '../support/real-host.ts';
import type { ServedRoute, ServerRole } from '../support/rights-table.ts';
import { has, servedRoutes } from '../support/rights-table.ts';
import { someTerms } from '../support/tickets.ts';

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

describe('S4.13 I39 a stolen certificate', () => {
  const clients: HttpClient[] = [];
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
  });
  async function as(role: IdentityRole, id: string): Promise<HttpClient> {
    const client = undiciClient({ credentials: await authority.credentials(role, id) });
    clients.push(client);
    return client;
  }
  const at = (server: ServerRole): string => addresses[server] ?? '';

  it('of a scheduler ends nothing of another, enters nothing, and gets and uses no ticket of another', async () => {
    const operator = new MonitorClient(await as('operator', 'ann'), {
      urls: [at('monitor')],
      from: 'a test',
    });
    await operator.submit({ name: 'victim', type: 'batch', command: ['sleep', '1000'] });
    const id = await runningOf(operator, 'victim');
    const thief = await as('scheduler', 'thief');
    const hosts = new HostClient(thief);
    const stopped = await hosts.stop(at('agent'), id, someStop());
    expect(stopped).toMatchObject({ kind: 'refused', code: 'not-yours' });
    expect((await hosts.remove(at('agent'), id, 'a-removal')).kind).toBe('unknown');
    await expect(hosts.exec(at('agent'), id, { commandId: 'c1', command: ['true'] })).rejects.toThrow(
      'this identity may not do that',
    );
    const order = someStart({ allocation: { host: 'host-1', scheduler: 'batch-1' } });
    expect(await call(thief, 'PUT', `${at('agent')}/v1/allocations/${order.allocation.id}`, order)).toEqual([
      403,
      'not-yours',
    ]);
    const terms = someTerms({ scheduler: 'batch-1' });
    const asked = requestFor('batch-1', [[terms]]);
    expect(await call(thief, 'POST', `${at('arbiter')}/v1/tickets`, asked)).toEqual([403, 'not-yours']);
    const quota = { allocations: 0 };
    expect(await call(thief, 'PUT', `${at('monitor')}/v1/quotas/default`, quota)).toEqual([403, 'forbidden']);
    expect((await hosts.get(at('agent'), id))?.state).toBe('running');

    // Whose it is may end it: through the store, and on the host by its owner.
    await operator.stop({ namespace: 'default', job: 'victim' });
    for (;;) {
      const report = await hosts.get(at('agent'), id);
      if (report === null || isTerminal(report.state)) return;
      await pause(50);
    }
  });

  it('of a host calls nobody', async () => {
    const host = await as('agent', 'host-1');
    for (const server of ['monitor', 'scheduler', 'arbiter'] as const) {
      const { status } = await host.call({
        method: 'GET',
        url: `${at(server)}/livez`,
        timeoutMs: TIMEOUT_MS,
      });
      expect(status).toBe(200);
    }
    const paths = servedRoutes().filter(({ method, right }) => method !== 'CHANNEL' && right !== 'health');
    for (const route of paths)
      expect((await call(host, route.method as Method, urlOf(route), {}))[0]).toBe(403);
  });

  async function call(
    client: HttpClient,
    method: Method,
    url: string,
    body: unknown,
  ): Promise<readonly [status: number, code: string]> {
    const answer = await client.call({ method, url, body, timeoutMs: TIMEOUT_MS });
    return [answer.status, (answer.body as { readonly code?: string } | undefined)?.code ?? ''];
  }
});

async function runningOf(operator: MonitorClient, job: string): Promise<string> {
  for (;;) {
    const { allocations } = await operator.allocations({ namespace: 'default', job });
    const running = allocations.find(({ report }) => report?.state === 'running');
    if (running !== undefined) return running.allocation.id;
    await pause(50);
  }
}
