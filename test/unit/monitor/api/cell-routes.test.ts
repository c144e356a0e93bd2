import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SHARED_RESOURCES_MAX } from '../../../../src/wire/values/bounds.ts';
import type { CellStatus } from '../../../../src/wire/api/cell-api.ts';
import { hostCodec, poolCodec } from '../../../../src/wire/records/records.ts';
import { hostRecord, MonitorWorld } from '../../../support/monitor-world.ts';

describe('the cell as a whole', () => {
  let world: MonitorWorld;
  let address: string;
  beforeEach(async () => {
    world = new MonitorWorld();
    const upkeep = {
      measure: () =>
        Promise.resolve({ revision: 9, databaseBytes: 4_000_000, inUseBytes: 1_000_000, isFull: false }),
      compact: () => Promise.resolve(),
      defragment: () => Promise.resolve(),
      disarm: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
    const options = { historyKeptMs: null, quotaBytes: 8_000_000 };
    ({ address } = await world.monitor('m1', { upkeep: { store: upkeep, options } }));
  });
  afterEach(() => world.close());

  const put = (name: string, body: unknown) => world.call('PUT', `${address}/v1/shared/${name}`, body);
  const cell = async (): Promise<CellStatus> =>
    (await world.call('GET', `${address}/v1/cell`)).body as CellStatus;

  it('S3.15 an operator says what hosts share, and sees each pool with its hosts and what is taken', async () => {
    for (const [id, rack] of [
      ['h1', 'r1'],
      ['h2', 'r1'],
      ['h3', 'r2'],
    ] as const)
      await world.write([
        {
          ...{ kind: 'put', key: world.keys.host(id) },
          value: hostCodec.encode({ ...hostRecord(id, `http://${id}`), attributes: { rack } }),
        },
      ]);
    const uplink = { unit: 'Mbit/s', by: 'host.rack', capacity: 1_000, capacities: { r2: 400 } };
    expect(await put('uplink', uplink)).toMatchObject({ status: 200, body: { name: 'uplink' } });
    await world.write([
      { kind: 'put', key: world.keys.pool('uplink/r1'), value: poolCodec.encode({ used: 300 }) },
      { kind: 'put', key: world.keys.pool('uplink/gone'), value: poolCodec.encode({ used: 7 }) },
    ]);
    expect((await put('uplink', uplink)).status).toBe(200);
    const pools = [
      { value: 'gone', capacity: 1_000, used: 7, hosts: 0 },
      { value: 'r1', capacity: 1_000, used: 300, hosts: 2 },
      { value: 'r2', capacity: 400, used: 0, hosts: 1 },
    ];
    const { capacities: _of, ...says } = uplink;
    expect((await cell()).shared).toEqual([{ name: 'uplink', ...says, pools, isDefined: true }]);
    expect((await world.call('DELETE', `${address}/v1/shared/uplink`)).status).toBe(204);
    expect((await cell()).shared[0]).toMatchObject({ isDefined: false, pools: [{ used: 7 }, { used: 300 }] });
  });

  it('refuses what means nothing, and more resources than a transaction could compare', async () => {
    const fine = { unit: '', by: null, capacity: 1, capacities: {} };
    for (const [name, body] of [
      ['Up Link', fine],
      ['uplink', { ...fine, by: 'host' }],
      ['uplink', { ...fine, capacity: -1 }],
      ['uplink', { ...fine, capacities: { r1: 0.5 } }],
    ] as const)
      expect((await put(encodeURIComponent(name), body)).status).toBe(400);
    for (let n = 0; n < SHARED_RESOURCES_MAX; n++)
      expect((await put(`s${String(n)}`, fine)).status).toBe(200);
    expect((await put('one-more', fine)).status).toBe(409);
    expect((await put('s0', { ...fine, capacity: 2 })).status).toBe(200);
  });

  it('says how large the store is, what it may have, and from where on its past is kept', async () => {
    expect((await cell()).store).toEqual({
      ...{ revision: 9, databaseBytes: 4_000_000, inUseBytes: 1_000_000, isFull: false },
      ...{ quotaBytes: 8_000_000, compactedRevision: world.cell.oldestRevision },
    });
  });
});
