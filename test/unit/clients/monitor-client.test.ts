import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MonitorClient } from '../../../src/clients/monitor-client.ts';
import { until } from '../../support/manual-clock.ts';
import { allocationOf, MonitorWorld } from '../../support/monitor-world.ts';
import { reportOf } from '../../support/reporting-host.ts';

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(() => world.close());

const RUN = { name: 'hello', type: 'batch', command: ['x'] };

describe('MonitorClient', () => {
  it('S4.32 speaks the whole API, and goes on to the next monitor when one is gone', async () => {
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

  it('I28 logs go on at another monitor from the last offset when the first is lost', async () => {
    const host = await world.host('h1');
    const [one, two] = [await world.monitor('m1'), await world.monitor('m2')];
    const client = new MonitorClient(world.http, { urls: [one.address, two.address], from: 'a test' });
    const run = await client.run(RUN, 'k1');
    const of = { job: run.job, group: run.job };
    await world.place(allocationOf('h1', 'a1', of));
    host.change(reportOf('h1', 'a1', of));
    let text = '';
    const done = (async () => {
      for await (const { offset, chunk } of client.logs(run, { stream: 'stdout', follow: true })) {
        expect(offset).toBe(text.length);
        text += Buffer.from(chunk).toString();
      }
    })();
    host.write('a1', 'first ');
    await until(() => text === 'first ');
    world.network.cut(one.address);
    host.write('a1', 'second');
    await until(() => text === 'first second');
    host.change(reportOf('h1', 'a1', { ...of, state: 'complete' }));
    host.endLog('a1');
    await done;
    expect(text).toBe('first second');
    expect(two.monitor.state.copy.jobs.size).toBe(1);
  });

  it('I28 logs end with the allocation that they began with: a successor has offsets of its own', async () => {
    const host = await world.host('h1');
    const [one, two] = [await world.monitor('m1'), await world.monitor('m2')];
    const client = new MonitorClient(world.http, { urls: [one.address, two.address], from: 'a test' });
    const run = await client.run(RUN, 'k1');
    const of = { job: run.job, group: run.job };
    await world.place(allocationOf('h1', 'a1', of));
    host.change(reportOf('h1', 'a1', of));
    let text = '';
    const reading = (async () => {
      for await (const { chunk } of client.logs(run, { stream: 'stdout', follow: true }))
        text += Buffer.from(chunk).toString();
    })();
    host.write('a1', 'first ');
    await until(() => text === 'first ');
    await world.place(allocationOf('h1', 'a2', { ...of, attempt: 2 }));
    host.change(reportOf('h1', 'a2', { ...of, state: 'complete' }));
    host.write('a2', 'what comes of another attempt');
    host.endLog('a2');
    host.write('a1', 'and last');
    host.change(reportOf('h1', 'a1', { ...of, state: 'complete' }));
    await until(() => two.monitor.state.copy.allocations.size === 2);
    world.network.cut(one.address);
    host.endLog('a1');
    await reading;
    expect(text).toBe('first and last');
  });
});
