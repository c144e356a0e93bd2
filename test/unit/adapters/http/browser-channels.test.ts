import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { fastifyServer } from '../../../../src/adapters/http/http.ts';
import type { Credentials } from '../../../../src/adapters/pki/credentials.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import type { AdmitToken, ChannelRoute, HttpListener } from '../../../../src/ports/http.ts';
import { CHANNEL_BEARER, CHANNEL_PROTOCOL } from '../../../../src/ports/http.ts';
import { TestAuthority } from '../../../support/credentials.ts';

const TOKEN = 'moorage.01jd.abc-_DEF';
const KNOWN = 'https://other-monitor:7000';

let authority: TestAuthority;
let credentials: Credentials;
const listeners: HttpListener[] = [];
beforeAll(async () => {
  authority = await TestAuthority.of('c1');
  credentials = await authority.credentials('monitor', 'm1');
});
afterEach(async () => {
  for (const listener of listeners.splice(0)) await listener.close(0);
});
afterAll(() => authority[Symbol.dispose]());

const shown: string[] = [];
const admit: AdmitToken = async (token) => {
  shown.push(token);
  if (token !== TOKEN) return 'unknown';
  const person = {
    role: 'person',
    id: 'p1',
    name: 'ann',
    scope: 'submit',
    namespaces: null,
    endsAtMs: 0,
  } as const;
  return { person, ended: new AbortController().signal };
};
const enter: ChannelRoute = {
  path: '/v1/enter',
  right: 'enter',
  open:
    async ({ peer }) =>
    async (channel) => {
      await channel.send(new TextEncoder().encode(peer?.id ?? 'trusted'));
      channel.close();
    },
};

async function serve(): Promise<string> {
  shown.length = 0;
  const server = fastifyServer({ log: silentLog, credentials });
  const listener = await server.listen([], {
    ...{ host: '127.0.0.1', port: 0, bodyBytesMax: 1_024, channels: [enter], admit },
    isKnownOrigin: (origin) => origin === KNOWN,
  });
  listeners.push(listener);
  return listener.address;
}

/** What a browser does: no headers of its own, but the origin of the page. */
function open(address: string, protocols: readonly string[], origin?: string): Promise<string> {
  const socket = new WebSocket(`${address.replace(/^http/, 'ws')}/v1/enter`, [...protocols], {
    rejectUnauthorized: false,
    ...(origin === undefined ? {} : { origin }),
  });
  return new Promise((resolve) => {
    socket.once('unexpected-response', (_request, { statusCode }) => resolve(String(statusCode)));
    socket.once('error', (error) => resolve(error.message));
    socket.once('message', (message) => resolve(`${(message as Buffer).toString()} by ${socket.protocol}`));
  });
}

describe('28 channels of browsers', () => {
  it('a token stands among the protocols, and only the other one is taken', async () => {
    const address = await serve();
    const protocols = [CHANNEL_PROTOCOL, CHANNEL_BEARER + TOKEN];
    expect(await open(address, protocols, address)).toBe('p1 by moorage');
    expect(await open(address, protocols, KNOWN)).toBe('p1 by moorage');
    expect(await open(address, [...protocols].reverse(), address)).toBe('p1 by moorage');
    expect(shown).toEqual([TOKEN, TOKEN, TOKEN]);
  });

  it('a token that was never made, or none at all, opens nothing', async () => {
    const address = await serve();
    expect(await open(address, [CHANNEL_PROTOCOL, `${CHANNEL_BEARER}other`], address)).toBe('401');
    expect(await open(address, [CHANNEL_PROTOCOL], address)).toBe('401');
  });

  it.each(['https://elsewhere.example', 'null', 'https://127.0.0.1'])(
    'a page from %s opens none, and its token is not looked at',
    async (origin) => {
      const protocols = [CHANNEL_PROTOCOL, CHANNEL_BEARER + TOKEN];
      expect(await open(await serve(), protocols, origin)).toBe('403');
      expect(shown).toEqual([]);
    },
  );

  it("a stranger's page opens none at a server without credentials either, which trusts whoever reaches it", async () => {
    const server = fastifyServer({ log: silentLog });
    const listen = { host: '127.0.0.1', port: 0, bodyBytesMax: 1_024, channels: [enter] };
    const listener = await server.listen([], listen);
    listeners.push(listener);
    expect(await open(listener.address, [], 'https://elsewhere.example')).toBe('403');
    expect(await open(listener.address, [], listener.address)).toBe('trusted by ');
    expect(await open(listener.address, [])).toBe('trusted by ');
  });
});
