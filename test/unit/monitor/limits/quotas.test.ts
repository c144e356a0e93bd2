import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Monitor } from '../../../../monitor/monitor.ts';
import { QUOTAS_MAX } from '../../../../src/wire/values/bounds.ts';
import type { QuotaListAnswer } from '../../../../src/wire/api/quota-api.ts';
import { quotaCodec } from '../../../../src/wire/records/records.ts';
import { allocationOf, MonitorWorld } from '../../../support/monitor-world.ts';
import { until } from '../../../support/manual-clock.ts';

const NO_LIMIT = { cpuMilli: null, memoryMib: null, gpuMilli: null, allocations: null };

describe('what namespaces may use', () => {
  let world: MonitorWorld;
  let address: string;
  let monitor: Monitor;
  beforeEach(async () => {
    world = new MonitorWorld();
    ({ monitor, address } = await world.monitor('m1'));
  });
  afterEach(() => world.close());

  const put = (namespace: string, body: unknown) =>
    world.call('PUT', `${address}/v1/quotas/${namespace}`, body);
  const remove = (namespace: string) => world.call('DELETE', `${address}/v1/quotas/${namespace}`);
  const list = async () => ((await world.call('GET', `${address}/v1/quotas`)).body as QuotaListAnswer).quotas;

  it('I9 an operator says a quota, as arbiters read it, and sees what the namespace holds', async () => {
    const placed = allocationOf('h1', 'one', { namespace: 'team-a' });
    await world.place(placed);
    await world.place(allocationOf('h1', 'two', { namespace: 'team-b' }));
    await until(() => monitor.state.copy.allocations.size === 2, 'both placements');
    const limits = { ...NO_LIMIT, cpuMilli: 10_000 };
    expect((await put('team-a', limits)).status).toBe(200);
    const used = {
      cpuMilli: placed.resources.cpuMilli,
      memoryMib: placed.resources.memoryMib,
      gpuMilli: 0,
      allocations: 1,
    };
    expect(await list()).toEqual([{ namespace: 'team-a', ...limits, used, isReadable: true }]);
    const key = world.keys.quota('team-a');
    const entry = (await world.store.read([key])).entries.get(key);
    expect(quotaCodec.decode(entry?.value ?? '')).toEqual({ namespace: 'team-a', ...limits });
    expect((await put('team-a', limits)).status).toBe(200);
    expect((await world.store.read([key])).entries.get(key)?.modRevision).toBe(entry?.modRevision);
    expect((await remove('team-a')).status).toBe(204);
    expect((await remove('team-a')).status).toBe(204);
    expect(await list()).toEqual([]);
  });

  it('shows a record that is no quota as arbiters take it, and lets it be said again', async () => {
    await world.write([{ kind: 'put', key: world.keys.quota('team-a'), value: '{"v":1,"cpuMilli":-1}' }]);
    expect(await list()).toMatchObject([{ namespace: 'team-a', cpuMilli: 0, isReadable: false }]);
    expect((await put('team-a', { ...NO_LIMIT, allocations: 3 })).status).toBe(200);
    expect(await list()).toMatchObject([{ allocations: 3, cpuMilli: null, isReadable: true }]);
  });

  it('refuses what means nothing, and more quotas than one answer may list', async () => {
    for (const [namespace, body, path] of [
      ['Team%20A', NO_LIMIT, 'namespace'],
      ['team-a', { ...NO_LIMIT, cpuMilli: -1 }, 'cpuMilli'],
      ['team-a', { ...NO_LIMIT, gpuMilli: 0.5 }, 'gpuMilli'],
      ['team-a', { ...NO_LIMIT, memoryMib: 1e15 }, 'memoryMib'],
      ['team-a', { cpuMilli: 1 }, 'memoryMib'],
    ] as const)
      expect(await put(namespace, body)).toMatchObject({ status: 400, body: { path } });
    const quota = { ...NO_LIMIT, namespace: 'x' };
    for (let n = 0; n < QUOTAS_MAX; n++)
      await world.write([
        { kind: 'put', key: world.keys.quota(`n${String(n)}`), value: quotaCodec.encode(quota) },
      ]);
    expect((await put('one-more', NO_LIMIT)).status).toBe(409);
    expect((await put('n0', { ...NO_LIMIT, cpuMilli: 2 })).status).toBe(200);
  });
});
