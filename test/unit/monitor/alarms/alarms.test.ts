import { afterEach, beforeEach, expect, it } from 'vitest';
import type { AlarmsAnswer } from '../../../../src/wire/api/cell-api.ts';
import { allocationOf, MonitorWorld } from '../../../support/monitor-world.ts';

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(() => world.close());

it('a job that waits for long is an alarm with its reason, in events too, until it waits no more', async () => {
  const host = await world.host('h1');
  const { monitor, address } = await world.monitor('m1', { alarmAfterMs: 60_000 });
  const told = async (): Promise<AlarmsAnswer> =>
    (await world.call('GET', `${address}/v1/alarms`)).body as AlarmsAnswer;
  await world.call('POST', `${address}/v1/jobs`, { name: 'web', type: 'service', command: ['x'] });
  await world.pass(50, [host]);
  expect((await told()).alarms).toEqual([]);
  await world.pass(25, [host]);
  const { alarms, afterMs } = await told();
  expect(alarms).toMatchObject([
    { kind: 'waiting', subject: 'default/web', detail: 'no scheduler of kind service is alive' },
  ]);
  expect(afterMs).toBe(60_000);
  await world.call('POST', `${address}/v1/jobs/default/web/stop`);
  await world.pass(15, [host]);
  expect((await told()).alarms).toEqual([]);
  const { body } = await world.call('GET', `${address}/v1/events?since=0&follow=false`);
  const kinds = String(body).match(/"kind":"alarm[^"]*"/g);
  expect(kinds).toEqual(['"kind":"alarm"', '"kind":"alarm-over"']);
  expect(monitor.alarms.standing().alarms).toEqual([]);
});

it('a job that is all placed is an alarm when it is started again and again, and none when it is not', async () => {
  const host = await world.host('h1');
  const { monitor, address } = await world.monitor('m1', { alarmAfterMs: 60_000 });
  const allocations = ['quiet', 'loops'].map((job) => allocationOf('h1', `${job}-1`, { job, group: job }));
  for (const { job } of allocations)
    await world.call('POST', `${address}/v1/jobs`, { name: job, type: 'service', command: ['x'] });
  for (const allocation of allocations) await world.place(allocation);
  for (let restarts = 0; restarts < 16; restarts++) {
    for (const { desired: _d, planId: _p, epoch: _e, createdAtMs: _c, ...claim } of allocations) {
      const times = claim.job === 'loops' ? restarts : 0;
      const task = { state: 'running', restarts: times, startedAtMs: world.clock.nowMs() } as const;
      const again = times === 0 ? {} : { lastExit: { code: 1 } };
      host.change({
        ...{ ...claim, state: 'running', released: false, reason: '', restarts: times },
        tasks: { [claim.job]: { ...task, ...again } },
      });
    }
    await world.pass(10, [host]);
  }
  expect(monitor.alarms.standing().alarms).toMatchObject([{ kind: 'looping', subject: 'default/loops' }]);
});

it('a host whose clock is another one for a minute is an alarm, until it is right', async () => {
  const host = await world.host('h1');
  const { monitor } = await world.monitor();
  const pass = async (seconds: number, aheadMs: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      await world.pass(1, [host]);
      host.beat(world.clock.nowMs() + aheadMs);
    }
    await world.pass(1, [host]);
  };
  await pass(50, 30_000);
  expect(monitor.alarms.standing().alarms).toEqual([]);
  await pass(40, 30_000);
  expect(monitor.alarms.standing().alarms).toMatchObject([{ kind: 'clock', subject: 'h1' }]);
  await pass(15, -300);
  expect(monitor.alarms.standing().alarms).toEqual([]);
});

it('a record that cannot be read is an alarm with its place, until it is set anew', async () => {
  const host = await world.host('h1');
  const { monitor, address } = await world.monitor();
  const key = world.keys.eligibilityOf('h1');
  const set = { state: 'lost', reason: 'burnt', by: 'ada', sinceMs: 1, counter: 1, silentMs: -1 };
  await world.write([{ kind: 'put', key, value: JSON.stringify({ v: 1, ...set }) }]);
  await world.pass(11, [host]);
  expect(monitor.alarms.standing().alarms).toMatchObject([
    { kind: 'record', subject: 'eligibility/h1', detail: expect.stringContaining('silentMs') as string },
  ]);
  const answer = await world.call('POST', `${address}/v1/hosts/h1/eligibility`, {
    state: 'ready',
    reason: 'x',
  });
  expect(answer).toMatchObject({
    status: 500,
    body: { code: 'unreadable-record', hint: expect.any(String) as string },
  });
  await world.write([{ kind: 'delete', key }]);
  await world.pass(11, [host]);
  expect(monitor.alarms.standing().alarms).toEqual([]);
});
