import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { withBatches } from '../../../../src/adapters/http/batch-route.ts';
import { BATCH_CALLS_MAX, BATCH_PATH } from '../../../../src/adapters/http/batch.ts';
import { undiciClient } from '../../../../src/adapters/http/client.ts';
import { fastifyServer } from '../../../../src/adapters/http/http.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import type { HttpAnswer, HttpClient, Route } from '../../../../src/ports/http.ts';
import { HttpError } from '../../../../src/ports/http.ts';
import { armed } from '../../../../src/runtime/faults/armed.ts';
import { ProblemError } from '../../../../src/wire/api/problem.ts';
import { TestAuthority } from '../../../support/credentials.ts';

const TIMEOUT_MS = 60_000;
const LISTEN = { host: '127.0.0.1', port: 0, bodyBytesMax: 128 * 1024 };
const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** What the routes below were asked, in order. */
const asked: string[] = [];
/** Requests that reached the server, batches and single calls. */
let requests = 0;
let letGo: () => void = () => undefined;

const put: Route = {
  method: 'PUT',
  path: '/v1/things/:id',
  right: 'start',
  batched: true,
  handle: async ({ params: { id = '' }, query, headers, body, signal }) => {
    asked.push(id);
    if (id === 'refused') throw new ProblemError({ status: 409, code: 'stopped', detail: 'it was stopped' });
    if (id === 'broken') throw new Error('secret /etc/path');
    if (id === 'slow')
      await new Promise<void>((resolve) => {
        letGo = resolve;
        signal.addEventListener('abort', () => resolve());
      });
    return {
      status: id === 'empty' ? 204 : 201,
      ...(id === 'empty' ? {} : { body: { id, query, trace: headers['traceparent'], body } }),
    };
  },
};
const forMonitors: Route = { ...put, path: '/v1/others/:id', right: 'relay' };
const single: Route = {
  method: 'GET',
  path: '/v1/single',
  right: 'start',
  handle: async () => ({ status: 200, body: {} }),
};

/** @param more of the server; with credentials it speaks TLS */
async function serve(
  options: { readonly old?: boolean; readonly bodyBytesMax?: number } = {},
): Promise<string> {
  asked.length = 0;
  requests = 0;
  const counted = [put, forMonitors, single];
  const routes = options.old === true ? counted : withBatches(counted, 'stop', silentLog);
  const listener = await fastifyServer({ log: silentLog }).listen(
    routes.map((route) => ({
      ...route,
      handle: (request) => {
        requests += 1;
        return route.handle(request);
      },
    })),
    { ...LISTEN, ...(options.bodyBytesMax !== undefined && { bodyBytesMax: options.bodyBytesMax }) },
  );
  cleanups.push(() => listener.close(0));
  return listener.address;
}

function opened(client = undiciClient()): HttpClient {
  cleanups.push(() => client.close());
  return client;
}

function order(client: HttpClient, address: string, id: string, more: object = {}): Promise<HttpAnswer> {
  return client.call({
    ...{ method: 'PUT', url: `${address}/v1/things/${id}`, body: { n: id.length }, timeoutMs: TIMEOUT_MS },
    ...{ batched: true, ...more },
  });
}

describe('calls in batches', () => {
  it('that are made at once go in one request, and each gets its own answer', async () => {
    const address = await serve();
    const client = opened();
    const ids = ['a', 'refused', 'broken', 'empty', 'b?x=1'];
    const answers = await Promise.all(
      ids.map((id) => order(client, address, id, { headers: { traceparent: `of-${id}` } })),
    );
    expect(requests).toBe(1);
    expect(asked).toEqual(['a', 'refused', 'broken', 'empty', 'b']);
    expect(answers.map(({ status }) => status)).toEqual([201, 409, 500, 204, 201]);
    expect(answers[0]?.body).toEqual({ id: 'a', query: {}, trace: 'of-a', body: { n: 1 } });
    expect(answers[1]?.body).toEqual({ status: 409, code: 'stopped', detail: 'it was stopped' });
    expect(JSON.stringify(answers[2]?.body)).not.toContain('secret');
    expect(answers[3]?.body).toBeUndefined();
    expect(answers[4]?.body).toMatchObject({ query: { x: '1' } });
  });

  it('F1 each comes to the fail-points of its own route', async () => {
    const reached: string[] = [];
    const points = { reach: (name: string) => (reached.push(name), null) };
    const { server } = armed('agent', points, { server: fastifyServer({ log: silentLog }) });
    const listener = await server.listen([put], { ...LISTEN, batchRight: 'stop' });
    cleanups.push(() => listener.close(0));
    const client = opened();
    await Promise.all(['a', 'b'].map((id) => order(client, listener.address, id)));
    const routes = reached.filter((name) => name.startsWith('agent/server.route/'));
    expect(routes.sort()).toEqual(
      ['after', 'after', 'before', 'before'].map((when) => `agent/server.route/put.things.id:${when}`),
    );
  });

  it('one alone goes as what it is', async () => {
    const address = await serve({ old: true });
    const client = opened();
    expect((await order(client, address, 'a')).status).toBe(201);
    expect(requests).toBe(1);
  });

  it('a slow one holds up no other of its batch, and none that comes later', async () => {
    const address = await serve();
    const client = opened();
    let isSlowOver = false;
    const slow = order(client, address, 'slow').finally(() => (isSlowOver = true));
    await Promise.all([order(client, address, 'a'), order(client, address, 'b')]);
    await Promise.all([order(client, address, 'c'), order(client, address, 'd')]);
    expect(isSlowOver).toBe(false);
    letGo();
    expect((await slow).status).toBe(201);
  });

  it('more than a batch takes, by number or by length, go in several', async () => {
    const address = await serve();
    const client = opened();
    const many = Array.from({ length: BATCH_CALLS_MAX + 1 }, (_, n) => `t${String(n)}`);
    await Promise.all(many.map((id) => order(client, address, id)));
    expect(requests).toBe(2);
    const body = { text: 'x'.repeat(40_000) };
    await Promise.all(['a', 'b', 'c'].map((id) => order(client, address, id, { body })));
    // One of them went by itself each time: two do not fit.
    expect(requests).toBe(5);
  });

  it('a server that takes none is called one by one, and is asked for batches no more', async () => {
    const address = await serve({ old: true });
    const client = opened();
    const both = () => Promise.all([order(client, address, 'a'), order(client, address, 'b')]);
    expect((await both()).map(({ status }) => status)).toEqual([201, 201]);
    expect((await both()).map(({ status }) => status)).toEqual([201, 201]);
    expect(asked.toSorted()).toEqual(['a', 'a', 'b', 'b']);
  });

  it('what is too large together goes one by one', async () => {
    const address = await serve({ bodyBytesMax: 1_024 });
    const client = opened();
    const body = { text: 'x'.repeat(700) };
    const answers = await Promise.all(['a', 'b'].map((id) => order(client, address, id, { body })));
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(asked.toSorted()).toEqual(['a', 'b']);
  });

  it('a server that is cut leaves unknown what it has not answered, and what it has answered stays', async () => {
    const address = await serve();
    const client = opened();
    const slow = order(client, address, 'slow');
    const quick = order(client, address, 'a');
    expect((await quick).status).toBe(201);
    await cleanups[0]?.();
    await expect(slow).rejects.toMatchObject({ name: 'HttpError', sent: true });
  });

  it('that reach nobody were surely not sent', async () => {
    const address = await serve();
    await cleanups.splice(0)[0]?.();
    const client = opened();
    const both = await Promise.allSettled([order(client, address, 'a'), order(client, address, 'b')]);
    for (const one of both)
      expect(one).toMatchObject({
        status: 'rejected',
        reason: expect.objectContaining({ sent: false }) as unknown,
      });
  });

  it('a caller that gives up is told at once; the others of its batch get their answers', async () => {
    const address = await serve();
    const client = opened();
    const caller = new AbortController();
    const slow = order(client, address, 'slow', { signal: caller.signal });
    await order(client, address, 'a');
    caller.abort();
    await expect(slow).rejects.toBeInstanceOf(HttpError);
    letGo();
  });

  it('nothing is called that is no order, and nothing that is no batch is read', async () => {
    const address = await serve();
    const client = opened();
    const post = (body: unknown) =>
      client.call({ method: 'POST', url: `${address}${BATCH_PATH}`, body, timeoutMs: TIMEOUT_MS });
    const { body } = await post({
      calls: [
        { method: 'GET', path: '/v1/single' },
        { method: 'POST', path: BATCH_PATH, body: { calls: [] } },
        { method: 'PUT', path: '/v1/things/%zz' },
      ],
    });
    const lines = String(body)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { status: number });
    expect(lines.map(({ status }) => status)).toEqual([404, 404, 404]);
    for (const wrong of [{ calls: [] }, {}, { calls: [{ method: 'PUT' }] }, { calls: [{}], more: 1 }])
      expect((await post(wrong)).status).toBe(400);
    expect(asked).toEqual([]);
  });
});

describe('who may call in a batch', () => {
  let authority: TestAuthority;
  beforeAll(async () => {
    authority = await TestAuthority.of('c1');
  });
  afterAll(() => authority[Symbol.dispose]());

  it('each call needs the right of its own route, and the batch that of its own', async () => {
    asked.length = 0;
    const credentials = await authority.credentials('agent', 'host-1');
    const server = fastifyServer({ log: silentLog, credentials });
    const listener = await server.listen([put, forMonitors], { ...LISTEN, batchRight: 'stop' });
    cleanups.push(() => listener.close(0));
    const scheduler = opened(undiciClient({ credentials: await authority.credentials('scheduler', 's1') }));
    const statuses = await Promise.all([
      order(scheduler, listener.address, 'a'),
      order(scheduler, listener.address, '../others/b', { url: `${listener.address}/v1/others/b` }),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([201, 403]);
    const monitor = opened(undiciClient({ credentials: await authority.credentials('monitor', 'm1') }));
    const others = await Promise.all([
      order(monitor, listener.address, 'c'),
      order(monitor, listener.address, 'd', { url: `${listener.address}/v1/others/d` }),
    ]);
    expect(others.map(({ status }) => status)).toEqual([403, 201]);
    const arbiter = opened(undiciClient({ credentials: await authority.credentials('arbiter', 'a1') }));
    const none = await Promise.all(['e', 'f'].map((id) => order(arbiter, listener.address, id)));
    expect(none.map(({ status }) => status)).toEqual([403, 403]);
    expect(asked).toEqual(['a', 'd']);
  });
});
