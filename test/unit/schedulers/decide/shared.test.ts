import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SchedulerClient } from '../../../../src/clients/scheduler-client.ts';
import type { Job } from '../../../../src/core/cell/job.ts';
import type { SharedResource } from '../../../../src/core/quota/shared-resource.ts';
import { poolCodec, roleCodec, sharedResourceCodec } from '../../../../src/wire/records/records.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

describe('what hosts share', () => {
  let world: CellWorld;
  beforeEach(() => (world = new CellWorld()));
  afterEach(() => world.close());

  const share = (name: string, part: Partial<SharedResource>): Promise<void> =>
    world.put(
      keys.sharedResource(name),
      sharedResourceCodec.encode({ name, unit: '', by: 'host.rack', capacity: 0, capacities: {}, ...part }),
    );
  const asking = (name: string, shared: Readonly<Record<string, number>>, count = 1): Job => {
    const job = makeJob(name, {}, {}, 100);
    const group = job.groups[name];
    const task = group?.tasks['main'];
    if (group === undefined || task === undefined) throw new Error('makeJob makes one task');
    return { ...job, groups: { [name]: { ...group, count, tasks: { main: { ...task, shared } } } } };
  };
  const taken = (): Record<string, number> =>
    Object.fromEntries(
      world
        .under(keys.pools)
        .map((entry) => [entry.key.slice(keys.pools.length), poolCodec.decode(entry.value).used]),
    );
  const racks = async (): Promise<void> => {
    for (const [host, rack] of [
      ['h1', 'r1'],
      ['h2', 'r1'],
      ['h3', 'r2'],
    ] as const)
      await world.host(host, 64_000, { rack });
  };

  it('S3.15 S3.33 competing schedulers fill each pool to the brim and never over it; releases give it back', async () => {
    await racks();
    await share('uplink', { capacity: 1_000, capacities: { r2: 500 } });
    for (const id of ['batch-1', 'batch-2', 'batch-3']) await world.scheduler({ id });
    for (let n = 0; n < 6; n++) await world.submit(asking(`job${String(n)}`, { uplink: 200 }, 3));
    await world.until(() => world.running().length === 7, 'five in one rack and two in the other');
    await world.clock.advance(5_000);
    expect(taken()).toEqual({ 'uplink/r1': 1_000, 'uplink/r2': 400 });
    expect(world.allocations()).toHaveLength(7);
    for (const { host, shared } of world.allocations())
      expect(shared).toEqual({ [host === 'h3' ? 'uplink/r2' : 'uplink/r1']: 200 });
    // The eleven other jobs are placed as the first ones end.
    for (let ended = 0; ended < 18; ended++) {
      await world.until(() => world.running().length > 0, 'a running task');
      const [one] = world.running();
      world.hosts.get(one?.host ?? '')?.end(one?.id ?? '', 'complete');
      await world.clock.advance(50);
      const { 'uplink/r1': r1 = 0, 'uplink/r2': r2 = 0 } = taken();
      expect(r1).toBeLessThanOrEqual(1_000);
      expect(r2).toBeLessThanOrEqual(500);
    }
    await world.until(() => world.allocations().length === 0, 'all are released');
    expect(taken()).toEqual({ 'uplink/r1': 0, 'uplink/r2': 0 });
    expect(world.outcomes()).toHaveLength(18);
  });

  it('S3.16 jobs that are packed host by host saturate one rack’s uplink; packed by what racks share they use both', async () => {
    for (const [host, rack] of Object.entries({ h1: 'r1', h2: 'r1', h3: 'r2', h4: 'r2' }))
      await world.host(host, 1_000, { rack });
    await share('uplink', { capacity: 1_000 });
    await world.scheduler({ id: 'batch-1' });
    const inRack = (prefix: string, hosts: readonly string[]): number =>
      world.allocations().filter(({ job, host }) => job.startsWith(prefix) && hosts.includes(host)).length;
    await world.submit(asking('blind', {}, 8));
    await world.until(() => world.running().length === 8, 'all run, on the fewest hosts');
    const blind = [inRack('blind', ['h1', 'h2']), inRack('blind', ['h3', 'h4'])];
    expect(Math.max(...blind)).toBe(8);
    await world.submit(asking('seeing', { uplink: 250 }, 8));
    await world.until(() => world.running().length === 16, 'all run, in both racks');
    expect([inRack('seeing', ['h1', 'h2']), inRack('seeing', ['h3', 'h4'])]).toEqual([4, 4]);
  });

  it('S3.15 says which pool is missing, and continues when an operator gives more', async () => {
    await racks();
    const { scheduler } = await world.scheduler({ id: 'batch-1' });
    const client = new SchedulerClient(world.network.client());
    await world.submit(asking('wide', { uplink: 300 }, 4));
    await world.until(() => scheduler.status().pending === 4, 'it waits for a resource that is not defined');
    const { address } = roleCodec.decode(world.cell.get(keys.role('scheduler', 'batch-1'))?.value ?? '');
    const why = async () => (await client.why(address, 'default', 'wide'))?.groups[0];
    expect((await why())?.hosts[0]).toMatchObject({
      check: 'shared',
      detail: 'no shared resource uplink is defined for jobs',
    });
    await share('uplink', { capacity: 700, unit: 'Mbit/s', capacities: { r2: 0 } });
    await world.until(() => world.running().length === 2, 'two go into the rack that has some');
    const group = await why();
    expect(group?.detail).toContain('uplink/r1 lacks 200 Mbit/s (needs 300 Mbit/s, 100 Mbit/s free)');
    expect(group?.refusals).toEqual([{ check: 'shared', hosts: 3 }]);
    await share('uplink', { capacity: 700, unit: 'Mbit/s', capacities: { r2: 600 } });
    await world.until(() => world.running().length === 4, 'the other rack has some too');
    expect(taken()).toEqual({ 'uplink/r1': 600, 'uplink/r2': 600 });
  });

  it('S3.35 of a rate jobs take nothing: one that asks for it waits, until it is none', async () => {
    await racks();
    await share('uplink', { capacity: 700, rate: 'fetch' });
    const { scheduler } = await world.scheduler({ id: 'batch-1' });
    await world.submit(asking('wide', { uplink: 300 }, 2));
    await world.until(() => scheduler.status().pending === 2, 'it waits for what is no pool');
    await share('uplink', { capacity: 700 });
    await world.until(() => world.running().length === 2, 'it has its share');
  });

  it('S3.15 a gang takes of a pool whole or not at all, and one pool may be the whole cell', async () => {
    await racks();
    await share('power', { by: null, capacity: 500 });
    await world.scheduler({ id: 'batch-1' });
    const gang = asking('gang', { power: 200 }, 3);
    const group = gang.groups['gang'];
    if (group === undefined) throw new Error('no group');
    await world.submit({ ...gang, groups: { gang: { ...group, gang: true } } });
    await world.clock.advance(3_000);
    expect(world.allocations()).toEqual([]);
    await share('power', { by: null, capacity: 600 });
    await world.until(() => world.running().length === 3, 'all three');
    expect(taken()).toEqual({ 'power/cell': 600 });
  });

  it('S3.15 nothing is preempted for a pool: its share is free only with the release', async () => {
    await world.host('h1', 1_000, { rack: 'r1' });
    await share('uplink', { capacity: 300 });
    await world.scheduler({ id: 'batch-1' });
    await world.submit({ ...asking('low', { uplink: 200 }), precedence: 10 });
    await world.until(() => world.running().length === 1, 'the first');
    await world.submit({ ...asking('high', { uplink: 200 }), precedence: 90 });
    await world.clock.advance(5_000);
    expect(world.hosts.get('h1')?.stops).toEqual([]);
    expect(world.running().map(({ job }) => job)).toEqual(['low']);
  });
});
