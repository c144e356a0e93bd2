import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Monitor } from '../../../../monitor/monitor.ts';
import type { Person } from '../../../../src/core/access/person.ts';
import { readNames } from '../../../../src/clients/monitor-streams.ts';
import { MonitorFailover } from '../../../../src/clients/monitor-failover.ts';
import type { AllocationReport } from '../../../../src/core/host/report.ts';
import type { NameChange } from '../../../../src/wire/api/names-api.ts';
import { allocationCodec, eligibilityCodec, jobCodec } from '../../../../src/wire/records/records.ts';
import { settle, until } from '../../../support/manual-clock.ts';
import { allocationOf, jobOf, MonitorWorld } from '../../../support/monitor-world.ts';
import type { ReportingHost } from '../../../support/reporting-host.ts';
import { reportOf } from '../../../support/reporting-host.ts';

const NAME = 'http.web.web.default';
let world: MonitorWorld;
let host: ReportingHost;
let monitor: Monitor;
let address: string;
const ends: AbortController[] = [];

beforeEach(async () => {
  world = new MonitorWorld();
  host = await world.host('h1');
  const record = {
    ...{ job: jobOf({ name: 'web', type: 'service', count: 2, ports: { http: 'auto' } }), version: 1 },
    ...{ desired: 'run' as const, submittedAtMs: 1 },
  };
  await world.write([{ kind: 'put', key: world.keys.job('default', 'web'), value: jobCodec.encode(record) }]);
  ({ monitor, address } = await world.monitor());
});
afterEach(async () => {
  for (const end of ends.splice(0)) end.abort();
  await world.close();
});

const placed = (id: string, index: number) =>
  allocationOf('h1', id, { index, ports: { http: 20_000 + index } });
const runs = (id: string, index: number, more: Partial<AllocationReport> = {}): void =>
  host.change(reportOf('h1', id, { index, ports: { http: 20_000 + index }, ...more }));

/** Who serves by each message of the stream, newest last. */
function follow(names?: string): string[] {
  const seen: string[] = [];
  const end = new AbortController();
  ends.push(end);
  const monitors = new MonitorFailover(world.network.client('p'), { urls: [address], from: 'test' });
  const read = async (): Promise<void> => {
    for await (const frame of readNames(monitors, { names }, end.signal))
      if (frame.kind === 'name') seen.push(textOf(frame));
  };
  read().catch(() => undefined);
  return seen;
}

const textOf = ({ name, known, endpoints }: NameChange): string =>
  `${name} ${known ? '' : 'unknown '}${endpoints.map(({ allocation, staleSinceMs }) => (staleSinceMs === undefined ? allocation : `${allocation}?`)).join(' ')}`.trim();
const get = (path: string) => world.call('GET', `${address}${path}`);

describe('the names that a monitor tells', () => {
  it('S0.30: who is to stop leaves the name with the order, before its host has heard of it', async () => {
    await world.place(placed('a0', 0));
    await world.place(placed('a1', 1));
    runs('a0', 0);
    runs('a1', 1);
    const seen = follow(NAME);
    await until(() => seen.at(-1) === `${NAME} a0 a1`);
    const key = world.keys.allocation('default', 'web', 'a0');
    await world.write([
      {
        kind: 'put',
        key,
        value: allocationCodec.encode({ ...placed('a0', 0), desired: 'stop', cause: 'update' }),
      },
    ]);
    await until(() => seen.at(-1) === `${NAME} a1`);
    runs('a1', 1, { tasks: { main: { state: 'running', restarts: 0, ready: false } } });
    await until(() => seen.at(-1) === NAME);
    runs('a1', 1);
    await until(() => seen.at(-1) === `${NAME} a1`);
    expect((await get(`/v1/names/${NAME}`)).body).toMatchObject({
      ...{ name: NAME, port: 'http', incomplete: false },
      endpoints: [{ allocation: 'a1', host: 'h1', index: 1, port: 20_001 }],
    });
  });

  it('S0.30 I51 a host that falls silent keeps its endpoints, marked; one that is lost has none', async () => {
    await world.place(placed('a0', 0));
    runs('a0', 0);
    const seen = follow();
    await until(() => seen.at(-1) === `${NAME} a0`);
    for (let second = 0; second < 5; second++) {
      await world.clock.advance(1_000);
      await settle();
    }
    await until(() => seen.at(-1) === `${NAME} a0?`);
    const lost = { state: 'lost' as const, reason: 'gone', by: 'm1', sinceMs: 1, counter: 1 };
    await world.write([
      { kind: 'put', key: world.keys.eligibilityOf('h1'), value: eligibilityCodec.encode(lost) },
    ]);
    await until(() => seen.at(-1) === NAME);
  });

  it('I51 a monitor that cannot reach a host does not take its instances away from who follows', async () => {
    await world.place(placed('a0', 0));
    runs('a0', 0);
    for (const cut of [host.address, address]) world.severed.add(`m2 ${cut}`);
    const other = await world.monitor('m2');
    address = other.address;
    const seen = follow(NAME);
    await settle();
    // It says nothing of names before it has heard of every host, or waited for it.
    expect(seen).toEqual([]);
    for (let second = 0; second < 5; second++) {
      await world.clock.advance(1_000);
      host.beat();
      await settle();
    }
    await until(() => seen.at(-1) === `${NAME} a0?`);
  });

  it('a name of nothing, of no job, and of a namespace that the caller does not see', async () => {
    const code = async (path: string) => ((await get(path)).body as { code: string; detail: string }).code;
    expect(await code('/v1/names/web')).toBe('bad-request');
    expect(await code('/v1/names/http.web.api.default')).toBe('no-such-name');
    expect(await code('/v1/names?follow=true&names=a.b')).toBe('bad-request');
    expect((await get('/v1/names')).body).toMatchObject({ names: [{ name: NAME, endpoints: [] }] });
    expect((await get('/v1/names?namespace=team-b')).body).toMatchObject({ names: [] });
    const stranger = { role: 'person', namespaces: ['team-b'], scope: 'read' } as unknown as Person;
    const seen: string[] = [];
    const end = new AbortController();
    ends.push(end);
    const { names } = monitor.state;
    void (async () => {
      const sees = (namespace: string) => stranger.namespaces?.includes(namespace) ?? true;
      for await (const text of names.read(new Set([NAME]), sees, end.signal)) seen.push(text);
    })();
    await until(() => seen.length > 1);
    expect(seen.join('')).not.toContain('"name"');
  });

  it('a name becomes known with its job, and a stream of it says so', async () => {
    const seen = follow('http.api.api.default');
    await until(() => seen.at(-1) === 'http.api.api.default unknown');
    const record = {
      ...{ job: jobOf({ name: 'api', type: 'service', ports: { http: 'auto' } }), version: 1 },
      ...{ desired: 'run' as const, submittedAtMs: 1 },
    };
    await world.write([
      { kind: 'put', key: world.keys.job('default', 'api'), value: jobCodec.encode(record) },
    ]);
    await until(() => seen.at(-1) === 'http.api.api.default');
  });
});
