import net from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { fastifyServer } from '../../../../src/adapters/http/http.ts';
import { undiciClient } from '../../../../src/adapters/http/client.ts';
import { nodeClient } from '../../../../src/adapters/http/node-client.ts';
import { MemoryNetwork } from '../../../support/memory-network.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import type { HttpClient, HttpListener, HttpServer, Route } from '../../../../src/ports/http.ts';
import { HttpError } from '../../../../src/ports/http.ts';
import { ProblemError } from '../../../../src/wire/api/problem.ts';
import type { Problem } from '../../../../src/wire/api/problem.ts';

const network = new MemoryNetwork();
const pairs: readonly [name: string, server: () => HttpServer, client: () => HttpClient][] = [
  ['fastify and undici', () => fastifyServer({ log: silentLog }), () => undiciClient()],
  ["fastify and Node's own client", () => fastifyServer({ log: silentLog }), () => nodeClient()],
  ['memory', () => network.server(), () => network.client()],
];

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function listen(
  server: HttpServer,
  routes: readonly Route[],
  bodyBytesMax = 1_024,
): Promise<HttpListener> {
  const listener = await server.listen(routes, { host: '127.0.0.1', port: 0, bodyBytesMax });
  cleanups.push(() => listener.close(0));
  return listener;
}

function opened(client: HttpClient): HttpClient {
  cleanups.push(() => client.close());
  return client;
}

/** A promise and the means to settle it. */
function gate(): { promise: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const promise = new Promise<void>((resolve) => (open = resolve));
  return { promise, open };
}

const echo: Route = {
  method: 'POST',
  path: '/v1/echo/:id',
  right: 'read',
  handle: async ({ params, query, headers, body }) => ({
    status: 201,
    headers: { 'x-mine': headers['x-yours'] ?? '' },
    body: { params, query, body },
  }),
};

describe.each(pairs)('HTTP over %s', (_name, makeServer, makeClient) => {
  it('carries params, query, headers and body there, and status, headers and body back', async () => {
    const { address } = await listen(makeServer(), [echo]);
    const client = opened(makeClient());
    const url = `${address}/v1/echo/a-1?x=1&y=%20`;
    const answer = await client.call({
      method: 'POST',
      url,
      body: { n: [1] },
      headers: { 'x-yours': 'z' },
      timeoutMs: 60_000,
    });
    expect(answer.status).toBe(201);
    expect(answer.headers['x-mine']).toBe('z');
    expect(answer.body).toEqual({ params: { id: 'a-1' }, query: { x: '1', y: ' ' }, body: { n: [1] } });
  });

  it('answers 204 without a body and text with its own type', async () => {
    const none: Route = {
      method: 'DELETE',
      path: '/v1/a',
      right: 'read',
      handle: async () => ({ status: 204 }),
    };
    const text: Route = {
      method: 'GET',
      path: '/metrics',
      right: 'read',
      handle: async () => ({ status: 200, contentType: 'text/plain', body: 'up 1\n' }),
    };
    const { address } = await listen(makeServer(), [none, text]);
    const client = opened(makeClient());
    const gone = await client.call({ method: 'DELETE', url: `${address}/v1/a`, timeoutMs: 60_000 });
    expect([gone.status, gone.body]).toEqual([204, undefined]);
    const metrics = await client.call({ method: 'GET', url: `${address}/metrics`, timeoutMs: 60_000 });
    expect([metrics.status, metrics.body]).toEqual([200, 'up 1\n']);
  });

  it('makes problems of what routes throw, without details of an unknown error', async () => {
    const refused: Problem = { status: 409, code: 'stopped', detail: 'it was stopped', path: 'a.b' };
    const routes: Route[] = [
      {
        method: 'GET',
        path: '/v1/known',
        right: 'read',
        handle: () => Promise.reject(new ProblemError(refused)),
      },
      {
        method: 'GET',
        path: '/v1/unknown',
        right: 'read',
        handle: () => Promise.reject(new Error('secret /etc/path')),
      },
    ];
    const { address } = await listen(makeServer(), routes);
    const client = opened(makeClient());
    const known = await client.call({ method: 'GET', url: `${address}/v1/known`, timeoutMs: 60_000 });
    expect(known.body).toEqual(refused);
    expect(known.headers['content-type']).toMatch(/^application\/problem\+json/);
    const unknown = await client.call({ method: 'GET', url: `${address}/v1/unknown`, timeoutMs: 60_000 });
    expect(unknown.status).toBe(500);
    expect(JSON.stringify(unknown.body)).not.toContain('secret');
    const absent = await client.call({ method: 'GET', url: `${address}/v1/nothing`, timeoutMs: 60_000 });
    expect(absent.body).toMatchObject({ status: 404, code: 'not-found' });
  });

  it('listens beyond this machine only when configured, and publishes the address that was named', async () => {
    const listen = { host: '0.0.0.0', port: 0, bodyBytesMax: 100 };
    await expect(fastifyServer({ log: silentLog }).listen([], listen)).rejects.toThrow(/without TLS/);
    const advertise = 'http://10.0.0.1:7000';
    const open = fastifyServer({ log: silentLog, plainOutsideLoopback: true, advertise });
    const listener = await open.listen([], listen);
    expect(listener.address).toBe(advertise);
    await listener.close(0);
  });

  it('refuses a body over the limit with 413', async () => {
    const { address } = await listen(makeServer(), [echo]);
    const client = opened(makeClient());
    const body = { text: 'x'.repeat(2_000) };
    const answer = await client.call({
      method: 'POST',
      url: `${address}/v1/echo/a`,
      body,
      timeoutMs: 60_000,
    });
    expect(answer.body).toMatchObject({ status: 413, code: 'too-large' });
  });

  it('delivers each chunk of a stream before the next one exists', async () => {
    const gates = [gate(), gate()];
    async function* chunks(): AsyncGenerator<string> {
      yield 'one\n';
      await gates[0]?.promise;
      yield 'two\n';
      await gates[1]?.promise;
    }
    const route: Route = {
      method: 'GET',
      path: '/v1/s',
      right: 'read',
      handle: async () => ({ status: 200, stream: chunks() }),
    };
    const { address } = await listen(makeServer(), [route]);
    const client = opened(makeClient());
    const stream = await client.stream({
      method: 'GET',
      url: `${address}/v1/s`,
      timeoutMs: 60_000,
      idleTimeoutMs: 60_000,
    });
    const seen: string[] = [];
    for await (const chunk of stream.chunks) {
      seen.push(Buffer.from(chunk).toString());
      gates[seen.length - 1]?.open();
    }
    expect(seen).toEqual(['one\n', 'two\n']);
  });

  it('gives the head of a stream at once, and ends the route when the reader leaves', async () => {
    const left = gate();
    const route: Route = {
      method: 'GET',
      path: '/v1/quiet',
      right: 'read',
      handle: async ({ signal }) => {
        signal.addEventListener('abort', left.open, { once: true });
        async function* chunks(): AsyncGenerator<string> {
          await left.promise;
        }
        return { status: 200, stream: chunks(), headers: { 'x-offset': '7' } };
      },
    };
    const { address } = await listen(makeServer(), [route]);
    const client = opened(makeClient());
    const leave = new AbortController();
    const call = {
      method: 'GET',
      url: `${address}/v1/quiet`,
      timeoutMs: 60_000,
      idleTimeoutMs: 60_000,
    } as const;
    const stream = await client.stream({ ...call, signal: leave.signal });
    expect(stream.headers['x-offset']).toBe('7');
    const reading = (async () => {
      for await (const _chunk of stream.chunks) expect.unreachable();
    })();
    leave.abort();
    await expect(reading).rejects.toBeInstanceOf(HttpError);
    await left.promise;
  });

  it('says that a stream whose source failed is cut, not ended', async () => {
    async function* chunks(): AsyncGenerator<string> {
      yield 'a';
      throw new Error('disk');
    }
    const route: Route = {
      method: 'GET',
      path: '/v1/s',
      right: 'read',
      handle: async () => ({ status: 200, stream: chunks() }),
    };
    const { address } = await listen(makeServer(), [route]);
    const client = opened(makeClient());
    const stream = await client.stream({
      method: 'GET',
      url: `${address}/v1/s`,
      timeoutMs: 60_000,
      idleTimeoutMs: 60_000,
    });
    const reading = (async () => {
      for await (const _chunk of stream.chunks);
    })();
    await expect(reading).rejects.toMatchObject({ name: 'HttpError', sent: true });
  });

  it('I28 cuts a stream when the server stops: an end in order says that this is all', async () => {
    const route: Route = {
      method: 'GET',
      path: '/v1/s',
      right: 'read',
      handle: async ({ signal }) => ({ status: 200, stream: untilLeft(signal) }),
    };
    async function* untilLeft(signal: AbortSignal): AsyncGenerator<string> {
      yield 'a';
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    }
    const listener = await listen(makeServer(), [route]);
    const client = opened(makeClient());
    const call = {
      method: 'GET',
      url: `${listener.address}/v1/s`,
      timeoutMs: 60_000,
      idleTimeoutMs: 60_000,
    } as const;
    const stream = await client.stream(call);
    const reading = (async () => {
      for await (const _chunk of stream.chunks) void listener.close(0);
    })();
    await expect(reading).rejects.toMatchObject({ name: 'HttpError', sent: true });
  });

  it('knows that a refused connection did nothing', async () => {
    const server = makeServer();
    const listener = await server.listen([echo], { host: '127.0.0.1', port: 0, bodyBytesMax: 100 });
    await listener.close(0);
    const client = opened(makeClient());
    const call = client.call({ method: 'POST', url: `${listener.address}/v1/echo/a`, timeoutMs: 60_000 });
    await expect(call).rejects.toMatchObject({ name: 'HttpError', sent: false });
  });

  it('does not send a call that was aborted before', async () => {
    const { address } = await listen(makeServer(), [echo]);
    const client = opened(makeClient());
    const signal = AbortSignal.abort();
    const call = client.call({ method: 'POST', url: `${address}/v1/echo/a`, timeoutMs: 60_000, signal });
    await expect(call).rejects.toMatchObject({ name: 'HttpError', sent: false });
  });
});

describe.each(pairs.slice(0, 2))('sockets: %s', (_name, makeServer, makeClient) => {
  it('closes a free connection by itself, though the server does not', async () => {
    let closed = (): void => undefined;
    const isClosed = new Promise<void>((resolve) => (closed = resolve));
    const server = net.createServer((socket) => {
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
      socket.on('close', closed);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => new Promise((resolve) => server.close(() => resolve())));
    const { port } = server.address() as net.AddressInfo;
    const client = opened(makeClient());
    await client.call({ method: 'GET', url: `http://127.0.0.1:${String(port)}/v1/a`, timeoutMs: 60_000 });
    await isClosed;
  });

  it('sends a read once more when the kept connection was closed meanwhile; of anything else the outcome is unknown', async () => {
    const asked: string[] = [];
    // Answers once on each connection, and closes it at the next call.
    const server = net.createServer((socket) => {
      let answers = 0;
      socket.on('error', () => undefined);
      socket.on('data', (bytes: Buffer) => {
        asked.push(bytes.toString().split(' ')[0] ?? '');
        answers += 1;
        if (answers > 1) socket.resetAndDestroy();
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => new Promise((resolve) => server.close(() => resolve())));
    const { port } = server.address() as net.AddressInfo;
    const client = opened(makeClient());
    const send = (method: 'GET' | 'POST') =>
      client.call({ method, url: `http://127.0.0.1:${String(port)}/v1/a`, timeoutMs: 60_000 });
    await send('GET');
    expect((await send('GET')).status).toBe(200);
    await expect(send('POST')).rejects.toMatchObject({ name: 'HttpError', sent: true });
    expect(asked.filter((method) => method === 'POST')).toHaveLength(1);
  });

  it('takes a missed deadline for unknown', async () => {
    const route: Route = {
      method: 'PUT',
      path: '/v1/never',
      right: 'read',
      handle: ({ signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve({ status: 200 }))),
    };
    const { address } = await listen(makeServer(), [route]);
    const client = opened(makeClient());
    const call = client.call({ method: 'PUT', url: `${address}/v1/never`, timeoutMs: 50 });
    await expect(call).rejects.toMatchObject({ name: 'HttpError', sent: true });
  });

  it('cuts a stream that stays silent', async () => {
    async function* chunks(signal: AbortSignal): AsyncGenerator<string> {
      yield 'a';
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    }
    const route: Route = {
      method: 'GET',
      path: '/v1/s',
      right: 'read',
      handle: async ({ signal }) => ({ status: 200, stream: chunks(signal) }),
    };
    const { address } = await listen(makeServer(), [route]);
    const client = opened(makeClient());
    const stream = await client.stream({
      method: 'GET',
      url: `${address}/v1/s`,
      timeoutMs: 60_000,
      idleTimeoutMs: 50,
    });
    const reading = (async () => {
      for await (const _chunk of stream.chunks);
    })();
    await expect(reading).rejects.toMatchObject({
      name: 'HttpError',
      message: expect.stringContaining('silent') as string,
    });
  });
});

describe('the server against strange callers', () => {
  const raw = (address: string, text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(address);
      const socket = net.connect(Number(port), hostname, () => socket.write(text));
      let answer = '';
      socket.on('data', (data) => (answer += data.toString()));
      socket.on('close', () => resolve(answer));
      socket.on('error', reject);
    });
  const post = (type: string, body: Buffer | string): string =>
    `POST /v1/echo/a HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: ${type}\r\ncontent-length: ${String(Buffer.byteLength(body))}\r\n\r\n${body.toString()}`;

  it.each([
    ['a key twice', 'application/json', '{"cpu":1,"cpu":64000}', 400],
    ['a byte order mark', 'application/json', '\ufeff{}', 400],
    ['__proto__', 'application/json', '{"__proto__":{}}', 400],
    ['17 levels', 'application/json', '['.repeat(17) + ']'.repeat(17), 400],
    ['no JSON', 'application/json', '{', 400],
    ['text', 'text/plain', '{}', 415],
    ['a form', 'application/x-www-form-urlencoded', 'a=1', 415],
  ])('refuses %s', async (_what, type, body, status) => {
    const { address } = await listen(fastifyServer({ log: silentLog }), [echo]);
    const answer = await raw(address, post(type, body));
    expect(answer).toContain(`HTTP/1.1 ${String(status)} `);
    expect(answer).toContain('application/problem+json');
  });

  it('refuses expectations and upgrades', async () => {
    const { address } = await listen(fastifyServer({ log: silentLog }), [echo]);
    const expectation =
      'POST /v1/echo/a HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 99999999999\r\n\r\n';
    expect(await raw(address, expectation)).toContain('HTTP/1.1 417 ');
    const upgrade = 'GET /v1/echo/a HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n';
    expect(await raw(address, upgrade)).toContain('HTTP/1.1 400 ');
  });

  it('closes a connection on which nothing comes', async () => {
    const { address } = await listen(fastifyServer({ log: silentLog }), [echo]);
    expect(await raw(address, 'POST /v1/echo/a HTT')).not.toContain(' 200 ');
  });

  it('refuses a query name that comes twice', async () => {
    const { address } = await listen(fastifyServer({ log: silentLog }), [echo]);
    const text =
      'POST /v1/echo/a?x=1&x=2 HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';
    expect(await raw(address, text)).toContain('HTTP/1.1 400 ');
  });

  it('refuses to listen beyond this machine without TLS', async () => {
    const server = fastifyServer({ log: silentLog });
    await expect(server.listen([], { host: '0.0.0.0', port: 0, bodyBytesMax: 1 })).rejects.toThrow('TLS');
  });
});
