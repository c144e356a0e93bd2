import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Bearer } from '../../src/adapters/pki/bearer.ts';
import { bearerOf } from '../../src/adapters/pki/bearer.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { Scope } from '../../src/core/access/person.ts';
import { SCOPES } from '../../src/core/access/person.ts';
import type { HttpClient } from '../../src/ports/http.ts';
import { HttpError } from '../../src/ports/http.ts';
import { AUDIENCE, OpenIdProviderServer } from '../support/openid-provider.ts';
import { clientWith, RightsCell, stopped, strangers, TIMEOUT_MS } from '../support/rights-cell.ts';
import { lets } from '../support/rights-table.ts';

let cell: RightsCell;
let provider: OpenIdProviderServer;
let operator: MonitorClient;
const clients: HttpClient[] = [];

beforeAll(async () => {
  cell = await RightsCell.start();
  operator = client(await cell.authority.credentials('operator', 'ann'));
});
afterAll(async () => {
  await Promise.all(clients.map((one) => one.close()));
  await cell.close();
});

beforeEach(async () => {
  // The authority of a test signs for it; that it is the cell's own is by the way.
  const { now } = await cell.authority.credentials('monitor', 'login');
  provider = await OpenIdProviderServer.start({ key: now.key, cert: now.certificate });
  await operator.setOpenId('corp', {
    ...{ issuer: provider.issuer, audience: AUDIENCE, authorities: now.authorities },
    ...{ namespacesClaim: 'groups', scopeClaim: 'scope' },
  });
});
afterEach(() => provider.close());

function client(showing: Parameters<typeof clientWith>[0]): MonitorClient {
  const http = clientWith(showing);
  clients.push(http);
  return new MonitorClient(http, { urls: [cell.addresses.monitor ?? ''], from: 'a test' });
}

async function showing(token: string): Promise<Bearer> {
  return bearerOf(token, (await cell.authority.folder.keyPair()).certificate);
}

async function person(claims: object, options: { forS?: number } = {}): Promise<Bearer> {
  return await showing(await provider.sign({ ...claims }, options));
}

it.each(SCOPES)('S4.13 I65 an OpenID identity of the scope %s, at every route', async (scope: Scope) => {
  const token = await person({ groups: ['*'], scope: `openid moorage:${scope}` });
  await cell.expectFates(token, (route) => {
    if (route.server !== 'monitor') return 'closed';
    return lets(scope, route) ? 'let-in' : 'refused';
  });
});

it('S4.13 it sees its namespaces and no others, and is on record by issuer and subject', async () => {
  const api = client(await person({ sub: 'bob', groups: ['team-a'], scope: 'submit' }));
  expect(await api.whoAmI()).toMatchObject({
    ...{ kind: 'token', name: `oidc:${provider.issuer}#bob`, scope: 'submit', namespaces: ['team-a'] },
  });
  const job = { name: 'mine', namespace: 'team-a', type: 'batch', command: ['true'] };
  await api.submit(job);
  const other = client(await person({ sub: 'eve', groups: ['team-b'], scope: 'submit' }));
  await expect(other.status({ namespace: 'team-a', job: 'mine' })).rejects.toThrow('there is no job');
  expect((await other.jobs()).jobs).toEqual([]);
  await expect(other.submit(job)).rejects.toThrow('this token is not of namespace team-a');
  await expect(client(await person({ groups: ['team-a'] })).submit(job)).rejects.toThrow('may not do that');
  const { records } = await operator.audit({ by: `oidc:${provider.issuer}#bob` });
  expect(records.at(-1)).toMatchObject({ act: 'submit', target: 'mine', namespace: 'team-a' });
  await stopped(api, 'mine', 'team-a');
});

it('S4.13 one that does not count is told why, and gets nowhere', async () => {
  const refused = async (token: string): Promise<string> =>
    await client(await showing(token))
      .whoAmI()
      .then(
        () => 'counts',
        (error: unknown) => String(error),
      );
  const groups = ['*'];
  expect(await refused(await provider.sign({ groups, iss: 'https://x.example' }))).toContain(
    'no provider of this cell',
  );
  expect(await refused(await provider.sign({ groups, aud: 'billing' }))).toContain('for another audience');
  expect(await refused(await provider.sign({ groups }, { forS: -60 }))).toContain('has ended');
  expect(await refused(await provider.sign({}))).toContain('its claim groups names no namespace');
  const [, body = ''] = (await provider.sign({ groups, scope: 'admin' })).split('.');
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  expect(await refused(`${none}.${body}.`)).toContain('not signed as by a pair of keys');
  const old = provider.keys[0]!;
  expect(await refused(await provider.sign({ groups }))).toBe('counts');
  await provider.rotate();
  expect(await refused(await provider.sign({ groups }))).toContain('not among those of its provider');
  // A provider that is away: a known key goes on, an unknown one is refused, and nobody waits.
  provider.mode = 'hangs';
  expect(await refused(await provider.sign({ groups, sub: 'new' }, { key: old }))).toBe('counts');
  expect(await refused(await provider.sign({ groups }))).toContain('not among those of its provider');
  expect((await operator.openIdProviders()).providers).toMatchObject([
    { name: 'corp', setBy: 'operator/ann', keys: { count: 1 } },
  ]);
});

it.each(['ends', 'has a provider no longer', 'has another audience'])(
  'S4.13 what is open with a token is cut when it %s',
  async (how) => {
    const token = await person({ groups: ['*'], sub: 'carl' }, { forS: how === 'ends' ? -2 : 600 });
    const http = clientWith(token);
    clients.push(http);
    const url = `${cell.addresses.monitor ?? ''}/v1/events?since=0`;
    const stream = await http.stream({
      ...{ method: 'GET', url, to: 'monitor', timeoutMs: TIMEOUT_MS, idleTimeoutMs: TIMEOUT_MS },
    });
    expect(stream.status).toBe(200);
    const chunks = stream.chunks[Symbol.asyncIterator]();
    await chunks.next();
    if (how.includes('no longer')) await operator.deleteOpenId('corp');
    if (how.includes('another')) {
      const [known] = (await operator.openIdProviders()).providers;
      const { issuer, namespacesClaim, authorities = '' } = known!;
      await operator.setOpenId('corp', { issuer, namespacesClaim, authorities, audience: 'another' });
    }
    const cut = async (): Promise<void> => {
      while ((await chunks.next()).done !== true);
    };
    await expect(cut()).rejects.toThrow(HttpError);
    await cell.expectFates(token, strangers);
  },
);
