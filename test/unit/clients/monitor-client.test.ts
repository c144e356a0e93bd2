import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MonitorClient } from '../../../src/clients/monitor-client.ts';
import { MonitorWorld } from '../../support/monitor-world.ts';

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(() => world.close());

const RUN = { name: 'hello', type: 'batch', command: ['x'] };

describe('MonitorClient', () => {
  it('S4.32 speaks the whole API, and asks the next monitor when one is gone', async () => {
    await world.host('h1');
    const [one, two] = [await world.monitor('m1'), await world.monitor('m2')];
    const client = new MonitorClient(world.http, { urls: [one.address, two.address], from: 'a test' });
    expect(await client.submit({ name: 'web', type: 'service', command: ['x'] })).toMatchObject({
      version: 1,
    });
    await one.monitor.close();
    const run = await client.run(RUN, 'k1');
    expect(await client.run(RUN, 'k1')).toEqual({ ...run, created: false });
    const ref = { namespace: 'default', job: 'web' };
    expect((await client.status(ref)).record.job.name).toBe('web');
    expect((await client.jobs('default')).jobs.map((job) => job.name)).toContain('web');
    expect((await client.why(ref)).summary).toContain('no scheduler');
    expect(await client.exit(ref, 0)).toBeNull();
    expect((await client.allocations(ref)).allocations).toEqual([]);
    expect((await client.schedulers()).schedulers).toEqual([]);
    expect(await client.setEligibility('h1', { state: 'cordoned', reason: '' })).toMatchObject({
      alive: true,
    });
    expect((await client.hosts()).hosts).toHaveLength(1);
    expect((await client.stop(ref)).desired).toBe('stop');
    await expect(client.status({ namespace: 'default', job: 'none' })).rejects.toMatchObject({
      problem: { code: 'no-such-job' },
    });
    const kinds: string[] = [];
    for await (const event of client.events('0', { follow: false })) kinds.push(event.kind);
    expect(kinds).toContain('job-stopped');
  });
});
