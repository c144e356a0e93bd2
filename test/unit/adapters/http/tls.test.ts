import { rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { webSocketClient } from '../../../../src/adapters/http/channel-client.ts';
import { undiciClient } from '../../../../src/adapters/http/client.ts';
import { fastifyServer } from '../../../../src/adapters/http/http.ts';
import { issue } from '../../../../src/adapters/pki/authority.ts';
import type { Credentials } from '../../../../src/adapters/pki/credentials.ts';
import { openCredentials } from '../../../../src/adapters/pki/credentials.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import type { Caller } from '../../../../src/core/access/access.ts';
import type { Identity } from '../../../../src/core/access/identity.ts';
import type { ChannelRoute, HttpClient, HttpListener, Route } from '../../../../src/ports/http.ts';
import { HttpError } from '../../../../src/ports/http.ts';
import { HOUR_MS, LOOPBACK_HOSTS, TestAuthority } from '../../../support/credentials.ts';

const TIMEOUT_MS = 60_000;
let authority: TestAuthority;
let server: Credentials;
const cleanups: (() => Promise<void> | void)[] = [];

beforeAll(async () => {
  authority = await TestAuthority.of('c1');
  server = await authority.credentials('agent', 'host-1');
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(() => authority[Symbol.dispose]());

/** Who called, in the order of the calls. */
const called: (Caller | null)[] = [];
const whoami: Route = {
  method: 'POST',
  path: '/v1/whoami',
  right: 'start',
  handle: async ({ peer }) => {
    called.push(peer);
    return { status: 200, body: peer };
  },
};
const talk: ChannelRoute = {
  path: '/v1/talk',
  right: 'relay',
  open:
    async ({ peer }) =>
    async (channel) => {
      await channel.send(new TextEncoder().encode(peer?.id ?? 'nobody'));
      channel.close();
    },
};

async function serve(credentials: Credentials = server): Promise<HttpListener> {
  called.length = 0;
  const listener = await fastifyServer({ log: silentLog, credentials }).listen([whoami], {
    ...{ host: '127.0.0.1', port: 0, bodyBytesMax: 1_024, channels: [talk] },
  });
  cleanups.push(() => listener.close(0));
  return listener;
}

function clientWith(credentials: Credentials | undefined): HttpClient {
  const client = undiciClient({ credentials });
  cleanups.push(() => client.close());
  return client;
}

async function ask(client: HttpClient, address: string, to?: 'agent' | 'arbiter') {
  const call = { method: 'POST', url: `${address}/v1/whoami`, body: {}, timeoutMs: TIMEOUT_MS } as const;
  return client.call(to === undefined ? call : { ...call, to });
}

/** The error of a call that must have none of its bytes read by a route. */
async function refusalOf(asking: Promise<unknown>): Promise<HttpError> {
  const error: unknown = await asking.then(
    (answer) => answer,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(HttpError);
  expect(called).toEqual([]);
  return error as HttpError;
}

/** Trusts the server and shows nothing. @returns the status or the code of the error */
function withoutCertificate(address: string): Promise<string> {
  return new Promise((resolve) => {
    const ca = server.now.authorities;
    const call = request(`${address}/v1/whoami`, { method: 'POST', ca }, (answer) => {
      answer.resume();
      resolve(String(answer.statusCode));
    });
    call.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    call.end('{}');
  });
}

describe('TLS between roles', () => {
  it('S4.13 tells a route who calls, by the certificate', async () => {
    const { address } = await serve();
    expect(address).toMatch(/^https:/);
    const client = clientWith(await authority.credentials('scheduler', 's1'));
    const answer = await ask(client, address, 'agent');
    expect(answer).toMatchObject({ status: 200, body: { cell: 'c1', role: 'scheduler', id: 's1' } });
  });

  it('refuses a caller without the right, with one text, before it reads the body', async () => {
    const { address } = await serve();
    for (const role of ['agent', 'monitor', 'arbiter', 'etcd', 'operator'] as const) {
      const client = clientWith(await authority.credentials(role, 'x'));
      const url = `${address}/v1/whoami`;
      // Larger than what the route takes: the answer would be 413.
      const body = 'x'.repeat(4_000);
      const answer = await client.call({ method: 'POST', url, body, timeoutMs: TIMEOUT_MS });
      expect(answer.status).toBe(403);
      expect(answer.body).toEqual({
        status: 403,
        code: 'forbidden',
        detail: 'this identity may not do that',
      });
    }
    expect(called).toEqual([]);
  });

  it('refuses who has no certificate, and who has none of its authority', async () => {
    const { address } = await serve();
    using other = await TestAuthority.of('c1');
    // Trusts the server, and shows a certificate of its own making.
    const mixed = await other.issue('scheduler', 's1');
    writeFileSync(join(mixed, 'ca.pem'), server.now.authorities);
    await refusalOf(ask(clientWith(openCredentials(mixed, null)), address));
    expect(await withoutCertificate(address)).toMatch(/CERTIFICATE_REQUIRED|ECONNRESET/);
    expect(called).toEqual([]);
  });

  it('refuses a certificate that has ended, and one of another cell', async () => {
    const { address } = await serve();
    const pair = await authority.folder.keyPair();
    const write = async (identity: Identity, ttlMs: number): Promise<Credentials> => {
      const folder = await authority.issue('scheduler', 'odd');
      const times = { nowMs: Date.now(), ttlMs, hosts: LOOPBACK_HOSTS };
      const { key, certificate } = await issue(pair, identity, times);
      writeFileSync(join(folder, 'identity.pem'), `${key}${certificate}\n`, { mode: 0o600 });
      return openCredentials(folder, null);
    };
    const own: Identity = { cell: 'c1', role: 'scheduler', id: 's1' };
    await refusalOf(ask(clientWith(await write(own, -1_000)), address));
    const answer = await ask(clientWith(await write({ ...own, cell: 'c2' }, HOUR_MS)), address).catch(
      (error: unknown) => error,
    );
    // The authority signed it: it is this cell's server that does not take it, or the client that knows another cell.
    expect(answer instanceof HttpError || (answer as { status: number }).status === 403).toBe(true);
    expect(called).toEqual([]);
  });

  it('S4.13 calls nobody of another role than it means', async () => {
    const { address } = await serve();
    const client = clientWith(await authority.credentials('scheduler', 's1'));
    const error = await refusalOf(ask(client, address, 'arbiter'));
    expect(error.sent).toBe(false);
    expect(error.message).toContain(
      'its certificate is of agent host-1 of cell c1, not of arbiter of cell c1',
    );
  });

  it('calls no address that is not in the certificate of the server', async () => {
    const elsewhere = await authority.credentials('agent', 'host-2', ['10.1.2.3', 'host-2.example']);
    const { address } = await serve(elsewhere);
    const error = await refusalOf(ask(clientWith(await authority.credentials('scheduler', 's1')), address));
    expect(error.sent).toBe(false);
    expect(error.message).toContain('10.1.2.3');
  });

  it('says nothing in the clear to an address without TLS', async () => {
    const plain = await fastifyServer({ log: silentLog }).listen([whoami], {
      ...{ host: '127.0.0.1', port: 0, bodyBytesMax: 1_024 },
    });
    cleanups.push(() => plain.close(0));
    const credentials = await authority.credentials('scheduler', 's1');
    const error = await refusalOf(ask(clientWith(credentials), plain.address));
    expect(error).toMatchObject({ sent: false });
    const opening = webSocketClient(credentials).open({ url: `${plain.address}/v1/talk`, timeoutMs: 1_000 });
    await expect(opening).rejects.toMatchObject({ sent: false });
  });

  it('opens a channel for who has the right, and refuses others', async () => {
    const { address } = await serve();
    const call = { url: `${address}/v1/talk`, to: 'agent', timeoutMs: TIMEOUT_MS } as const;
    const monitor = await webSocketClient(await authority.credentials('monitor', 'm1')).open(call);
    if (monitor.kind !== 'open') throw new Error('it was refused');
    const words: string[] = [];
    for await (const message of monitor.channel.messages) words.push(new TextDecoder().decode(message));
    expect(words).toEqual(['m1']);
    const operator = await webSocketClient(await authority.credentials('operator', 'o1')).open(call);
    expect(operator).toMatchObject({ kind: 'refused', answer: { status: 403 } });
    const wrong = webSocketClient(await authority.credentials('monitor', 'm1')).open({
      ...call,
      to: 'monitor',
    });
    await expect(wrong).rejects.toThrow('its certificate is of agent host-1');
  });

  it('knows a caller of a resumed session by the certificate of the first one', async () => {
    const { address } = await serve();
    const client = clientWith(await authority.credentials('scheduler', 's1'));
    const url = `${address}/v1/whoami`;
    for (let time = 0; time < 3; time++) {
      const headers = { connection: 'close' };
      const answer = await client.call({ method: 'POST', url, headers, body: {}, timeoutMs: TIMEOUT_MS });
      expect(answer).toMatchObject({ status: 200, body: { id: 's1' } });
    }
    expect(called).toHaveLength(3);
  });

  it('both ends take a renewed certificate without a restart', async () => {
    const own = await authority.credentials('agent', 'host-3');
    const { address } = await serve(own);
    const credentials = await authority.credentials('scheduler', 's3');
    const client = clientWith(credentials);
    expect((await ask(client, address, 'agent')).status).toBe(200);
    const before = [own.now.certificate, credentials.now.certificate];
    const seen: string[] = [];
    const forget = own.onChange((now) => seen.push(now.certificate));
    await authority.issue('agent', 'host-3');
    await authority.issue('scheduler', 's3');
    for (const one of [own, credentials]) one.reload();
    forget();
    expect(seen).toHaveLength(1);
    expect([own.now.certificate, credentials.now.certificate]).not.toEqual(before);
    // A connection of its own: the open one goes on with what it was opened with.
    const fresh = clientWith(credentials);
    expect((await ask(fresh, address, 'agent')).status).toBe(200);
    expect((await ask(client, address, 'agent')).status).toBe(200);
  });

  it('a renewal that cannot be read, or is of another identity, changes nothing', async () => {
    const credentials = await authority.credentials('scheduler', 's4');
    const { certificate } = credentials.now;
    const file = join(credentials.folder, 'identity.pem');
    writeFileSync(file, 'nothing of use');
    credentials.reload();
    rmSync(file);
    credentials.reload();
    expect(credentials.now.certificate).toBe(certificate);
    const other = await authority.credentials('scheduler', 's5');
    writeFileSync(file, other.now.certificate, { mode: 0o600 });
    credentials.reload();
    expect(credentials.now.certificate).toBe(certificate);
  });
});
