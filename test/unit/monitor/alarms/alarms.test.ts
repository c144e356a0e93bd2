import { afterEach, beforeEach, expect, it } from 'vitest';
import type { AlarmsAnswer } from '../../../../src/wire/api/cell-api.ts';
import { MonitorWorld } from '../../../support/monitor-world.ts';

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
