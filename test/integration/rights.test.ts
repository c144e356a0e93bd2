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
import { delegationSigner } from '../../src/adapters/pki/delegations.ts';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { nodeClient } from '../../src/adapters/http/node-client.ts';
import type { Bearer, Showing } from '../../src/adapters/pki/bearer.ts';
import { bearerOf } from '../../src/adapters/pki/bearer.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import { issue } from '../../src/adapters/pki/authority.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { makeKeyFiles } from '../../src/adapters/tickets/key-files.ts';
import { sha256Hex } from '../../src/adapters/system/digest.ts';
import { HostClient } from '../../src/clients/host-client.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import { isForAnybody } from '../../src/core/access/access.ts';
import type { Delegation } from '../../src/core/access/delegation.ts';
import { askedText, DELEGATED_ACTS, DELEGATION_TTL_MS } from '../../src/core/access/delegation.ts';
import type { IdentityRole } from '../../src/core/access/identity.ts';
import { IDENTITY_ROLES } from '../../src/core/access/identity.ts';
import type { Scope } from '../../src/core/access/person.ts';
import { SCOPES } from '../../src/core/access/person.ts';
import { isTerminal } from '../../src/core/host/states.ts';
import type { HttpClient, Method } from '../../src/ports/http.ts';
import { HttpError } from '../../src/ports/http.ts';
import type { AuditAnswer } from '../../src/wire/access/audit-api.ts';
import { DELEGATION_HEADER } from '../../src/wire/access/access.ts';
import { requestFor } from '../../src/wire/api/arbiter-api.ts';
import { LOOPBACK_HOSTS, TestAuthority } from '../support/credentials.ts';
import { someStart, someStop } from '../support/host-orders.ts';
import { PLAIN_SHIM, readAll } from '../support/real-host.ts';
import type { ServedRoute, ServerRole } from '../support/rights-table.ts';
import { has, lets, servedRoutes } from '../support/rights-table.ts';
import { someTerms } from '../support/tickets.ts';

const CELL = 'rights';
const TIMEOUT_MS = 60_000;
const LISTEN = { host: '127.0.0.1', port: 0 };

/** What came of a call: `refused`, by who calls or its rights; `closed`, before any route was chosen; `let-in` to the route. */
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
async function fateOf(route: ServedRoute, showing: Showing): Promise<Fate> {
  const http = clientWith(showing);
  const over = new AbortController();
  try {
    const url = urlOf(route);
    if (route.method === 'CHANNEL') {
      const answer = await webSocketClient(showing).open({ url, timeoutMs: TIMEOUT_MS });
      if (answer.kind === 'open') return 'let-in';
      return isRefused(answer.answer.status, JSON.stringify(answer.answer.body)) ? 'refused' : 'let-in';
    }
    const { status, chunks } = await http.stream({
      ...{ method: route.method as Method, url, timeoutMs: TIMEOUT_MS, idleTimeoutMs: TIMEOUT_MS },
      signal: over.signal,
    });
    if (!REFUSALS.has(status)) return 'let-in';
    return isRefused(status, String(await readAll(chunks))) ? 'refused' : 'let-in';
  } catch (error) {
    if (error instanceof HttpError) return 'closed';
    throw error;
  } finally {
    over.abort();
    await http.close();
  }
}

const REFUSALS: ReadonlySet<number> = new Set([401, 403]);

/** Of who is let in: a monitor, asked for whom it does that; a person, told that the namespace is not of its token. */
const LET_IN = /"code":"(not-delegated|other-namespace)"/;

function isRefused(status: number, body: string): boolean {
  return REFUSALS.has(status) && !LET_IN.test(body);
}

function clientWith(showing: Showing): HttpClient {
  return 'token' in showing ? nodeClient(showing) : undiciClient({ credentials: showing });
}

function shown(route: ServedRoute, fate: Fate): string {
  return `${route.server} ${route.method} ${route.path}: ${fate}`;
}

/** A monitor lets people speak who have no certificate, and asks them for a token, but for the page's own files. */
function strangers({ server, right }: ServedRoute): Fate {
  if (isForAnybody(right)) return 'let-in';
  return server === 'monitor' ? 'refused' : 'closed';
}

async function expectFates(showing: Showing, expected: (route: ServedRoute) => Fate): Promise<void> {
  const routes = servedRoutes();
  const seen: string[] = [];
  for (const route of routes) seen.push(shown(route, await fateOf(route, showing)));
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
    await expectFates(openCredentials(folder, null), strangers);
  });

  it('a certificate that has ended', async () => {
    await expectFates(await written(CELL, -1_000), strangers);
  });

  it('a certificate of another cell, from the same authority', async () => {
    const stranger = await written('elsewhere', 3_600_000);
    // Its client would not take our servers for its own.
    const lax = { ...stranger, now: stranger.now, identity: { ...stranger.identity, cell: CELL } };
    await expectFates(lax, ({ right }) => (isForAnybody(right) ? 'let-in' : 'refused'));
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
  const http = undiciClient({ credentials: await authority.credentials('operator', 'eve') });
  try {
    const sent = servedRoutes().filter(
      ({ server, method, right }) =>
        server === 'monitor' && !/GET|CHANNEL/.test(method) && has('operator', right),
    );
    expect(sent.length).toBeGreaterThan(10);
    for (const [n, route] of sent.entries()) {
      const headers = { 'x-request-id': `call-${String(n)}` };
      const call = { method: route.method as Method, url: urlOf(route), headers, timeoutMs: TIMEOUT_MS };
      const answer = await http.call(route.method === 'DELETE' ? call : { ...call, body: {} });
      const failed = (answer.body as { readonly code?: string } | undefined)?.code;
      const url = `${addresses.monitor ?? ''}/v1/audit?by=operator/eve`;
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

describe('S4.13 tokens of people', () => {
  const clients: HttpClient[] = [];
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
  });
  const monitor = (): string => addresses.monitor ?? '';
  async function operator(): Promise<MonitorClient> {
    return monitorClient({ showing: await authority.credentials('operator', 'ann') });
  }
  function monitorClient({ showing }: { readonly showing: Showing }): MonitorClient {
    const http = clientWith(showing);
    clients.push(http);
    return new MonitorClient(http, { urls: [monitor()], from: 'a test' });
  }
  async function bearer(
    scope: Scope,
    namespaces: readonly string[] | null = null,
    ttlMs = 600_000,
  ): Promise<{ readonly id: string; readonly showing: Bearer }> {
    const { id, token } = await (await operator()).createToken({ name: 'bob', scope, namespaces, ttlMs });
    return { id, showing: bearerOf(token, (await authority.folder.keyPair()).certificate) };
  }
  /** At monitors by the scope; elsewhere it is not even asked for. */
  const expected =
    (scope: Scope) =>
    (route: ServedRoute): Fate => {
      if (route.server !== 'monitor') return 'closed';
      return lets(scope, route) ? 'let-in' : 'refused';
    };

  it.each(SCOPES)('a token of the scope %s, at every route', async (scope) => {
    await expectFates((await bearer(scope)).showing, expected(scope));
  });

  it.each(['read', 'submit'] as const)(
    'a token of the scope %s and another namespace, at every route',
    async (scope) => {
      await expectFates((await bearer(scope, ['elsewhere'])).showing, expected(scope));
    },
  );

  it('one that was never made, one with another secret, one that is none', async () => {
    const { showing } = await bearer('admin');
    const last = showing.token.at(-1) ?? '';
    const other = `${showing.token.slice(0, -1)}${last === '0' ? '1' : '0'}`;
    const made = showing.token.replace(/\.\w+\./, '.00000000000000000000000000.');
    for (const token of [other, made, 'moorage', `${showing.token}.x`])
      await expectFates({ ...showing, token }, strangers);
  });

  it('one that was revoked, and one that has ended', async () => {
    const { id, showing } = await bearer('admin');
    await monitorClient({ showing }).whoAmI();
    await (await operator()).revokeToken(id);
    await expectFates(showing, strangers);
    const short = await bearer('admin', null, 1);
    await pause(2);
    await expectFates(short.showing, strangers);
  });

  it.each(['revoked', 'ended'])('what is open with a token is cut when it is %s', async (how) => {
    const { id, showing } = await bearer('read', null, how === 'ended' ? 3_000 : 600_000);
    const http = clientWith(showing);
    clients.push(http);
    const stream = await http.stream({
      ...{ method: 'GET', url: `${monitor()}/v1/events?since=0`, to: 'monitor' },
      ...{ timeoutMs: TIMEOUT_MS, idleTimeoutMs: TIMEOUT_MS },
    });
    expect(stream.status).toBe(200);
    const chunks = stream.chunks[Symbol.asyncIterator]();
    await chunks.next();
    if (how === 'revoked') await (await operator()).revokeToken(id);
    // An end in order would be taken for the end of the events.
    const cut = async (): Promise<void> => {
      while ((await chunks.next()).done !== true);
    };
    await expect(cut()).rejects.toThrow(HttpError);
    expect(
      (await http.call({ method: 'GET', url: `${monitor()}/v1/jobs`, timeoutMs: TIMEOUT_MS })).status,
    ).toBe(401);
  });

  it('of another namespace: what is there and what is not have the same answers, and lists show nothing', async () => {
    const api = await operator();
    await api.submit({ name: 'secret-zebra', type: 'batch', command: ['sleep', '1000'] });
    const allocation = await runningOf(api, 'secret-zebra');
    const there = {
      namespace: 'default',
      job: 'secret-zebra',
      id: allocation,
      command: 'c1',
      host: 'host-1',
    };
    const absent = {
      namespace: 'nowhere',
      job: 'missing-horse',
      id: '0'.repeat(26),
      command: 'c1',
      host: 'host-0',
    };
    const [foreign, own] = [await bearer('submit', ['elsewhere']), await bearer('submit', ['default'])];
    let shownToOwner = 0;
    for (const route of servedRoutes().filter(({ server }) => server === 'monitor')) {
      const ask = (names: Names, { showing }: { readonly showing: Bearer }): Promise<string> =>
        answerTo(route, names, showing);
      const answer = await ask(there, foreign);
      expect(answer).not.toContain('zebra');
      expect(answer).not.toContain(allocation);
      if (route.path.includes(':')) expect(answer).toBe(await ask(absent, foreign));
      const isRead = route.method === 'GET' || route.method === 'CHANNEL';
      if (isRead && (await answerTo(route, there, own.showing, false)).includes('zebra')) shownToOwner += 1;
    }
    // Jobs, a job, why, allocations, events: else nothing was looked at.
    expect(shownToOwner).toBeGreaterThanOrEqual(5);
    const job = { name: 'secret-zebra', type: 'batch', command: ['true'] };
    await expect(monitorClient(foreign).submit(job)).rejects.toThrow(
      'this token is not of namespace default',
    );
    await expect(monitorClient(foreign).run(job, 'k1')).rejects.toThrow(
      'this token is not of namespace default',
    );
    const { results } = await monitorClient(foreign).submitMany([job, { ...job, namespace: 'elsewhere' }]);
    expect(results).toMatchObject([{ problem: { code: 'other-namespace' } }, { namespace: 'elsewhere' }]);
    await monitorClient(own).stop({ namespace: 'default', job: 'secret-zebra' });
  });

  interface Names {
    readonly namespace: string;
    readonly job: string;
    readonly id: string;
    readonly command: string;
    readonly host: string;
  }

  /** Status and body, with the names that were asked for taken out of it. */
  async function answerTo(
    route: ServedRoute,
    names: Names,
    showing: Bearer,
    takesOut = true,
  ): Promise<string> {
    const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => names[name as keyof Names] ?? 'x');
    const whole = `${monitor()}${path}`;
    const without = (text: string): string =>
      Object.values<string>({ ...names }).reduce((rest, name) => rest.replaceAll(name, '?'), text);
    if (route.method === 'CHANNEL') {
      const answer = await webSocketClient(showing).open({
        url: whole,
        to: 'monitor',
        timeoutMs: TIMEOUT_MS,
      });
      if (answer.kind === 'refused')
        return without(JSON.stringify([answer.answer.status, answer.answer.body]));
      answer.channel.close();
      return 'open zebra';
    }
    const http = clientWith(showing);
    try {
      const queries = route.path.includes(':')
        ? ['']
        : ['', '?namespace=default', '?namespace=default&job=secret-zebra'];
      const texts: string[] = [];
      for (const query of queries) {
        const url = route.path === '/v1/events' ? `${whole}?since=0&follow=false` : whole + query;
        const body = BODIES[route.path] ?? {};
        const method = route.method as Method;
        const asked = method === 'GET' || method === 'DELETE' ? { method, url } : { method, url, body };
        const { status, body: answer } = await http.call({ ...asked, timeoutMs: TIMEOUT_MS });
        texts.push(`${String(status)} ${JSON.stringify(answer)}`);
      }
      return takesOut && route.path.includes(':') ? without(texts.join('\n')) : texts.join('\n');
    } finally {
      await http.close();
    }
  }

  const BODIES: Readonly<Record<string, unknown>> = {
    '/v1/allocations/:id/exec': { commandId: 'c1', command: ['true'] },
    '/v1/allocations/:id/signal': { signal: 'SIGCONT' },
  };
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

  it('of a monitor enters no task: each delegation is for one host, allocation, act, request, and for seconds', async () => {
    const operator = new MonitorClient(await as('operator', 'ann'), {
      urls: [at('monitor')],
      from: 'a test',
    });
    await operator.submit({ name: 'entered', type: 'batch', command: ['sleep', '1000'] });
    const id = await runningOf(operator, 'entered');
    const body = { commandId: 's1', signal: 'SIGCONT' };
    const other = { ...body, signal: 'SIGKILL' };
    // What a person does through a monitor, its host lets be done.
    const through = await as('operator', 'ann');
    expect(await call(through, 'POST', `${at('monitor')}/v1/allocations/${id}/signal`, body)).toEqual([
      200,
      '',
    ]);

    const stolen = await authority.credentials('monitor', 'monitor-1');
    const sign = delegationSigner(stolen);
    const right: Delegation = {
      ...{ by: 'operator/ann', host: 'host-1', allocation: id, act: 'signal' },
      request: sha256Hex(askedText({ query: {}, body })),
      ...{ notBeforeMs: Date.now(), expiresMs: Date.now() + DELEGATION_TTL_MS },
    };
    const thief = undiciClient({ credentials: stolen });
    clients.push(thief);
    /** @returns why the host refuses it; `done` */
    const signal = async (text: string | null, sent: unknown = body, who = thief): Promise<string> => {
      const { status, body: answer } = await who.call({
        ...{ method: 'POST', url: `${at('agent')}/v1/allocations/${id}/signal`, body: sent },
        ...(text === null ? {} : { headers: { [DELEGATION_HEADER]: text } }),
        timeoutMs: TIMEOUT_MS,
      });
      if (status === 200) return 'done';
      const { code, detail } = answer as { readonly code: string; readonly detail: string };
      expect([status, code]).toEqual([403, 'not-delegated']);
      return detail.slice(detail.lastIndexOf(': ') + 2);
    };
    const earlier = { notBeforeMs: Date.now() - 60_000, expiresMs: Date.now() - 50_000 };
    expect(await signal(null)).toBe('there is none');
    expect(await signal(sign({ ...right, host: 'host-2' }))).toBe('other-host');
    expect(await signal(sign({ ...right, allocation: 'another' }))).toBe('other-allocation');
    for (const act of DELEGATED_ACTS.filter((one) => one !== 'signal'))
      expect(await signal(sign({ ...right, act }))).toBe('other-act');
    expect(await signal(sign(right), other)).toBe('other-request');
    expect(await signal(sign({ ...right, ...earlier }))).toBe('expired');
    expect(await signal(sign({ ...right, expiresMs: Date.now() + 3_600_000 }))).toBe('counts-too-long');
    expect(await signal(sign(right), body, await as('monitor', 'monitor-2'))).toBe(
      'another monitor signed it',
    );
    const scheduler = delegationSigner(await authority.credentials('scheduler', 'batch-1'));
    expect(await signal(scheduler(right))).toBe('unknown-signer');
    const hosts = new HostClient(thief);
    const logs = { task: 'main', stream: 'stdout', offset: 0, follow: false } as const;
    await expect(hosts.logs(at('agent'), id, logs)).rejects.toThrow('no delegation');
    await expect(hosts.exec(at('agent'), id, { commandId: 'c1', command: ['true'] })).rejects.toThrow(
      'no delegation',
    );
    const attach = { url: `${at('agent')}/v1/allocations/${id}/attach`, timeoutMs: TIMEOUT_MS };
    expect(await webSocketClient(stolen).open(attach)).toMatchObject({
      answer: { status: 403, body: { code: 'not-delegated' } },
    });
    // Nothing of that did anything; what was passed on does.
    expect((await hosts.get(at('agent'), id))?.state).toBe('running');
    expect(await signal(sign(right))).toBe('done');
    await operator.stop({ namespace: 'default', job: 'entered' });
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
    const paths = servedRoutes().filter(
      ({ method, right }) => method !== 'CHANNEL' && right !== 'health' && !isForAnybody(right),
    );
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
