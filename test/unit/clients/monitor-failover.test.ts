import { expect, test } from 'vitest';
import { MonitorClient } from '../../../src/clients/monitor-client.ts';
import { HttpError } from '../../../src/ports/http.ts';
import type { Handler } from '../cli/fakes.ts';
import { FakeHttp } from '../cli/fakes.ts';

const A = 'http://a';
const B = 'http://b';
const clientOf = (http: FakeHttp, urls: readonly string[], signal?: AbortSignal) =>
  new MonitorClient(http, { urls, from: 'a test' }, signal);
const NONE = { body: { jobs: [], incomplete: false } };

test('a monitor that cannot be reached is passed over, and not asked first again', async () => {
  const http = new FakeHttp({ [A]: () => 'refused', [B]: () => NONE });
  const client = clientOf(http, [A, B]);
  expect(await client.jobs()).toEqual(NONE.body);
  await client.jobs();
  expect(http.asked).toEqual([
    `GET ${A}/v1/jobs?limit=5000`,
    `GET ${B}/v1/jobs?limit=5000`,
    `GET ${B}/v1/jobs?limit=5000`,
  ]);
});

test('calls that fail at once at the same monitor all go to the next one', async () => {
  const http = new FakeHttp({ [A]: () => 'refused', [B]: () => NONE });
  const client = clientOf(http, [A, B, 'http://c']);
  await Promise.all([client.jobs(), client.jobs(), client.jobs()]);
  await client.jobs();
  expect(http.asked.at(-1)).toBe(`GET ${B}/v1/jobs?limit=5000`);
});

test('a write that may have arrived is sent again only when twice is the same as once', async () => {
  const http = new FakeHttp({ [A]: () => 'lost', [B]: () => ({ body: {} }) });
  await expect(clientOf(http, [A, B]).submit({}, { ifMatch: 3 })).rejects.toThrow(HttpError);
  expect(http.asked).toEqual([`POST ${A}/v1/jobs`]);
  http.asked.length = 0;
  await clientOf(http, [A, B]).submit({});
  expect(http.asked).toEqual([`POST ${A}/v1/jobs`, `POST ${B}/v1/jobs`]);
});

test('a busy answer stands only when no other monitor has a better one', async () => {
  const busy = { status: 503, body: { code: 'store-away', detail: 'the store is away' } };
  const one = new FakeHttp({ [A]: () => busy, [B]: () => NONE });
  expect(await clientOf(one, [A, B]).jobs()).toEqual(NONE.body);
  const none = new FakeHttp({ [A]: () => busy, [B]: () => 'refused' });
  await expect(clientOf(none, [A, B]).jobs()).rejects.toMatchObject({ problem: { code: 'store-away' } });
});

test('no answer: names the monitors, where their addresses come from, and whether something may have been done', async () => {
  const lost = new FakeHttp({ [A]: () => 'lost', [B]: () => 'refused' });
  await expect(clientOf(lost, [A, B]).stop({ namespace: 'n', job: 'j' })).rejects.toMatchObject({
    sent: true,
    message: expect.stringContaining('no answer from any of 2 monitors (from a test)') as string,
  });
  await expect(clientOf(new FakeHttp({}), [A]).jobs()).rejects.toMatchObject({
    sent: false,
    message: expect.stringContaining(`cannot reach the monitor at ${A}`) as string,
  });
});

test("a call without a signal of its own ends with the client's", async () => {
  const http = new FakeHttp({ [A]: () => NONE });
  const leave = new AbortController();
  const own = new AbortController();
  const client = clientOf(http, [A], leave.signal);
  await client.jobs();
  await client.jobs(undefined, { signal: own.signal });
  expect(http.calls.map((call) => call.signal)).toEqual([leave.signal, own.signal]);
});

test('what one monitor has answered is asked of the next one, in calls and streams, but not for writes', async () => {
  const behind = { status: 503, body: { code: 'behind', detail: 'not yet' } };
  const old: Handler = (call) => (Number(call.headers?.['x-min-revision'] ?? 0) > 3 ? behind : NONE);
  const http = new FakeHttp({
    [A]: (call, path) => {
      if (call.method === 'POST') return { status: 201, headers: { 'x-revision': '7' }, body: {} };
      return old(call, path);
    },
    [B]: (_call, path) => (path.includes('/logs') ? { chunks: ['hello'] } : NONE),
  });
  const client = clientOf(http, [A, B]);
  await client.run({}, 'key');
  await client.run({}, 'key');
  expect(await client.jobs()).toEqual(NONE.body);
  expect(http.asked.slice(-2)).toEqual([`GET ${A}/v1/jobs?limit=5000`, `GET ${B}/v1/jobs?limit=5000`]);
  const logs = await client.logs({ namespace: 'n', job: 'j' }, { stream: 'stdout', follow: false }).next();
  expect(logs.done).toBe(false);
  const sent = http.calls.map((call) => call.headers?.['x-min-revision']);
  expect(sent).toEqual([undefined, undefined, '7', '7', '7']);
});

test('a stream that a monitor cannot give now is opened at another one', async () => {
  const busy = { status: 503, body: { code: 'behind', detail: 'not yet' } };
  const http = new FakeHttp({ [A]: () => busy, [B]: () => ({ chunks: ['hello'] }) });
  const logs = clientOf(http, [A, B]).logs({ namespace: 'n', job: 'j' }, { stream: 'stdout', follow: false });
  expect((await logs.next()).done).toBe(false);
  const none = new FakeHttp({ [A]: () => busy });
  await expect(
    clientOf(none, [A]).logs({ namespace: 'n', job: 'j' }, { stream: 'stdout', follow: false }).next(),
  ).rejects.toMatchObject({ problem: { code: 'behind' } });
});
