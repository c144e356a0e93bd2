import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { webSocketClient } from '../../src/adapters/http/channel-client.ts';
import type { Bearer, Showing } from '../../src/adapters/pki/bearer.ts';
import { bearerOf } from '../../src/adapters/pki/bearer.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { Scope } from '../../src/core/access/person.ts';
import { SCOPES } from '../../src/core/access/person.ts';
import type { HttpClient, Method } from '../../src/ports/http.ts';
import { HttpError } from '../../src/ports/http.ts';
import type { ServedRoute } from '../support/rights-table.ts';
import { lets, servedRoutes } from '../support/rights-table.ts';
import { RightsCell, stopped, TIMEOUT_MS, clientWith, runningOf, strangers } from '../support/rights-cell.ts';
import type { Fate } from '../support/rights-cell.ts';

let cell: RightsCell;

beforeAll(async () => {
  cell = await RightsCell.start();
});
afterAll(() => cell.close());

describe('S4.13 tokens of people', () => {
  const clients: HttpClient[] = [];
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
  });
  const monitor = (): string => cell.addresses.monitor ?? '';
  async function operator(): Promise<MonitorClient> {
    return monitorClient({ showing: await cell.authority.credentials('operator', 'ann') });
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
    return { id, showing: bearerOf(token, (await cell.authority.folder.keyPair()).certificate) };
  }
  /** At monitors by the scope; elsewhere it is not even asked for. */
  const expected =
    (scope: Scope) =>
    (route: ServedRoute): Fate => {
      if (route.server !== 'monitor') return 'closed';
      return lets(scope, route) ? 'let-in' : 'refused';
    };

  it.each(SCOPES)('a token of the scope %s, at every route', async (scope) => {
    await cell.expectFates((await bearer(scope)).showing, expected(scope));
  });

  it.each(['read', 'submit'] as const)(
    'a token of the scope %s and another namespace, at every route',
    async (scope) => {
      await cell.expectFates((await bearer(scope, ['elsewhere'])).showing, expected(scope));
    },
  );

  it('one that was never made, one with another secret, one that is none', async () => {
    const { showing } = await bearer('admin');
    const last = showing.token.at(-1) ?? '';
    const other = `${showing.token.slice(0, -1)}${last === '0' ? '1' : '0'}`;
    const made = showing.token.replace(/\.\w+\./, '.00000000000000000000000000.');
    for (const token of [other, made, 'moorage', `${showing.token}.x`])
      await cell.expectFates({ ...showing, token }, strangers);
  });

  it('one that was revoked, and one that has ended', async () => {
    const { id, showing } = await bearer('admin');
    await monitorClient({ showing }).whoAmI();
    await (await operator()).revokeToken(id);
    await cell.expectFates(showing, strangers);
    const short = await bearer('admin', null, 1);
    await pause(2);
    await cell.expectFates(short.showing, strangers);
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
      const ask = async (names: Names, { showing }: { readonly showing: Bearer }): Promise<string> => {
        for (;;) {
          const given = await answerTo(route, names, showing);
          // One person may ask so often a second, and no more.
          if (!given.startsWith('429 ')) return given;
        }
      };
      const answer = await ask(there, foreign);
      expect(answer).not.toContain('zebra');
      expect(answer).not.toContain(allocation);
      // Hosts are of no namespace: who may read sees all of them in the list, too.
      const isOfCell = route.method === 'GET' && route.path === '/v1/hosts/:host';
      if (route.path.includes(':') && !isOfCell) expect(answer).toBe(await ask(absent, foreign));
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
    await stopped(monitorClient(own), 'secret-zebra');
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
