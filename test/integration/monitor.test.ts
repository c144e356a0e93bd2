import { afterEach, describe, expect, it } from 'vitest';
import { runMonitor } from '../../monitor/main.ts';
import type { RunningMonitor } from '../../monitor/main.ts';
import { fastifyServer } from '../../src/adapters/http/http.ts';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { EMPTY_LEDGER, withClaim } from '../../src/core/fit/ledger.ts';
import { ndjson } from '../../src/core/json/ndjson.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import type {
  CellEvent,
  HostListAnswer,
  JobListAnswer,
  JobSummary,
  RunAnswer,
} from '../../src/wire/api/monitor-api.ts';
import { allocationCodec, hostCodec, ledgerCodec } from '../../src/wire/records/records.ts';
import { useEtcd } from '../support/etcd.ts';
import { allocationOf, hostRecord } from '../support/monitor-world.ts';
import { ReportingHost, reportOf } from '../support/reporting-host.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

/** For an answer that comes by itself. */
const PATIENCE_MS = 60_000;
const etcd = useEtcd();
const http = undiciClient();
const open: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop();
});

async function monitorOf(cell: string, id: string, store = etcd.url): Promise<RunningMonitor> {
  const monitor = await runMonitor({
    ...{ cell, id, etcd: [store], version: '0', log: silentLog },
    listen: { host: '127.0.0.1', port: 0 },
  });
  open.push(monitor);
  return monitor;
}

/** Asks until the answer is as wanted; the test's own time limit ends it. */
async function ask<T>(url: string, wanted: (body: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await http.call({ method: 'GET', url, timeoutMs: PATIENCE_MS });
    if (answer.status === 200 && wanted(answer.body as T)) return answer.body as T;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The kinds of all that it knows. */
async function eventsOf({ address }: RunningMonitor): Promise<string[]> {
  const url = `${address}/v1/events?since=0&follow=false`;
  const stream = await http.stream({
    ...{ method: 'GET', url, timeoutMs: PATIENCE_MS, idleTimeoutMs: PATIENCE_MS },
  });
  const kinds: string[] = [];
  for await (const event of ndjson(stream.chunks)) kinds.push((event as CellEvent).kind);
  return kinds;
}

describe('a monitor on etcd and real sockets', () => {
  it('S4.23 S4.4 takes a run, follows it and its output, and a second monitor tells the same', async () => {
    const cell = etcd.cellName();
    const keys = cellKeys(cell);
    const store = etcd.store();
    const host = await new ReportingHost('h1').listen(fastifyServer({ log: silentLog }));
    open.push({ stop: () => host.close() });
    const put = (key: string, value: string) => ({ kind: 'put', key, value }) as const;
    const write = (...writes: ReturnType<typeof put>[]) =>
      store.attempt({ compares: [], writes, readBack: [] });
    await write(
      put(keys.host('h1'), hostCodec.encode(hostRecord('h1', host.address))),
      put(keys.aliveOf('h1'), '{}'),
    );
    const [one, two] = [await monitorOf(cell, 'm1'), await monitorOf(cell, 'm2')];
    for (const { address } of [one, two])
      await ask<HostListAnswer>(
        `${address}/v1/hosts`,
        (body) => !body.incomplete && body.hosts[0]?.asOfMs != null,
      );

    const run = await http.call({
      ...{ method: 'POST', url: `${one.address}/v1/runs`, timeoutMs: PATIENCE_MS },
      body: { name: 'hello', type: 'batch', command: ['echo', 'hello'] },
      headers: { 'idempotency-key': 'k1' },
    });
    const { job } = run.body as RunAnswer;
    const path = `${two.address}/v1/jobs/default/${job}`;
    const logs = http.stream({
      method: 'GET',
      url: `${path}/logs?follow=true`,
      timeoutMs: PATIENCE_MS,
      idleTimeoutMs: PATIENCE_MS,
    });
    const exit = http.call({ method: 'GET', url: `${path}/exit?waitMs=30000`, timeoutMs: PATIENCE_MS });
    const of = { job, group: job };
    const allocation = allocationOf('h1', 'a1', of);
    await write(
      put(keys.allocation('default', job, 'a1'), allocationCodec.encode(allocation)),
      put(keys.ledger('h1'), ledgerCodec.encode(withClaim(EMPTY_LEDGER, allocation))),
    );
    host.change(reportOf('h1', 'a1', of));
    host.write('a1', 'hello\n');
    const chunks = (await logs).chunks[Symbol.asyncIterator]();
    expect(Buffer.from((await chunks.next()).value as Uint8Array).toString()).toBe('hello\n');
    host.change(reportOf('h1', 'a1', { ...of, state: 'complete', exit: { code: 0 }, reason: 'exit 0' }));
    host.endLog('a1');
    expect((await chunks.next()).done).toBe(true);
    expect((await exit).body).toMatchObject({ state: 'complete', exit: { code: 0 }, host: 'h1' });

    // The other monitor hears of the end by itself, and perhaps later.
    const wanted = ['job-submitted', 'placed', 'running', 'complete'];
    for (let kinds: string[] = []; !wanted.every((kind) => kinds.includes(kind));)
      kinds = await eventsOf(one);
    const ready = await http.call({
      method: 'GET',
      url: `${one.address}/readyz?verbose`,
      timeoutMs: PATIENCE_MS,
    });
    expect(ready.status).toBe(200);
  });

  it('a run that one monitor accepted is not absent at another that is cut off: 503, then the run', async () => {
    const cell = etcd.cellName();
    const proxy = await TcpProxy.to(etcd.url);
    open.push({ stop: () => proxy.close() });
    const one = await monitorOf(cell, 'm1');
    const two = await monitorOf(cell, 'm2', proxy.url);
    await ask<JobListAnswer>(`${two.address}/v1/jobs`, () => true);
    for (const link of proxy.links) link.dropReplies = true;
    proxy.refusing = true;
    const client = new MonitorClient(http, { urls: [one.address, two.address], from: 'this test' });
    const { job } = await client.run({ name: 'hello', command: ['true'] }, 'k');
    open.splice(open.indexOf(one), 1);
    await one.stop();
    await expect(client.jobs()).rejects.toMatchObject({ problem: { status: 503 } });
    for (const link of proxy.links) link.cut();
    proxy.refusing = false;
    const jobs = async (): Promise<readonly JobSummary[]> =>
      client.jobs().then(
        (answer) => answer.jobs,
        () => jobs(),
      );
    expect((await jobs()).map(({ name }) => name)).toEqual([job]);
  });

  it('I67 a monitor that is told to stop takes its registration back and ends its streams', async () => {
    const cell = etcd.cellName();
    const monitor = await monitorOf(cell, 'm1');
    const store = etcd.store();
    const key = cellKeys(cell).role('monitor', 'm1');
    while (!(await store.read([key])).entries.has(key))
      await new Promise((resolve) => setTimeout(resolve, 5));
    const reports = {
      method: 'GET',
      url: `${monitor.address}/v1/reports`,
      timeoutMs: PATIENCE_MS,
      idleTimeoutMs: PATIENCE_MS,
    } as const;
    const stream = await http.stream(reports);
    const ended = (async () => {
      for await (const _chunk of stream.chunks) continue;
    })();
    await monitor.stop();
    await ended;
    await monitor.ended;
    expect((await store.read([key])).entries.size).toBe(0);
  });
});
