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

/** A run whose allocation `a1` is on a host, followed through two monitors. */
async function placedRun() {
  const host = await world.host('h1');
  const [one, two] = [await world.monitor('m1'), await world.monitor('m2')];
  const client = new MonitorClient(world.http, { urls: [one.address, two.address], from: 'a test' });
  const run = await client.run(RUN, 'k1');
  const of = { job: run.job, group: run.job };
  await world.place(allocationOf('h1', 'a1', of));
  host.change(reportOf('h1', 'a1', of));
  return { host, one, two, client, run, of };
}

describe('logs of a MonitorClient', () => {
  it('I28 logs resume at another monitor from the last offset when the first is lost', async () => {
    const { host, one, two, client, run, of } = await placedRun();
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
    const { host, one, two, client, run, of } = await placedRun();
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
