import { afterEach, beforeEach, expect, it } from 'vitest';
import { SWITCHES_OFF } from '../../../../src/core/quota/quota.ts';
import { switchesCodec } from '../../../../src/wire/records/records.ts';
import { settle } from '../../../support/manual-clock.ts';
import { MonitorWorld } from '../../../support/monitor-world.ts';

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(() => world.close());

const switches = () => world.read(world.keys.switches, switchesCodec);

async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await world.clock.advance(1_000);
    await settle();
  }
}

it('S3.59 S3.20 an operator pauses placement and eviction apart, says why, and has them go on', async () => {
  const { address } = await world.monitor();
  const url = `${address}/v1/pauses`;
  expect(await world.call('GET', url)).toMatchObject({ status: 200, body: { pauses: {} } });
  const why = { reason: 'new disks' };
  const paused = await world.call('PUT', `${url}/placement`, why);
  expect(paused).toMatchObject({ status: 200, body: { pauses: { placement: { ...why, by: 'operator' } } } });
  await world.call('PUT', `${url}/eviction`, { reason: 'a look' });
  // What schedulers and arbiters of every version read.
  expect(await switches()).toMatchObject({ pausePlacement: true, pauseEviction: true });
  await world.call('DELETE', `${url}/placement`);
  expect(await switches()).toMatchObject({ pausePlacement: false, pauseEviction: true });
  expect((await world.call('GET', url)).body).toMatchObject({ pauses: { eviction: { reason: 'a look' } } });
  await world.call('DELETE', `${url}/eviction`);
  expect((await world.call('DELETE', `${url}/eviction`)).body).toEqual({ pauses: {} });
  const events = await world.call('GET', `${address}/v1/events?since=0&follow=false`);
  expect(events.body).toMatch(/"kind":"paused","source":"operator"[^\n]*new disks/);
  expect(events.body).toMatch(/"kind":"resumed"/);
});

it('S3.59 a pause for a time ends by itself, once, and not when it was renewed meanwhile', async () => {
  const { address } = await world.monitor();
  await world.monitor('m2');
  const put = (forMs: number) =>
    world.call('PUT', `${address}/v1/pauses/placement`, { reason: 'disks', forMs });
  await put(5_000);
  await pass(3);
  await put(10_000);
  await pass(5);
  expect(await switches()).toMatchObject({ pausePlacement: true });
  await pass(6);
  expect(await switches()).toMatchObject({ pausePlacement: false, pauses: {} });
});

it('refuses what cannot be paused, and a pause without a reason; a switch of an older version is told as it is', async () => {
  const { address } = await world.monitor();
  const put = (what: string, body: unknown) => world.call('PUT', `${address}/v1/pauses/${what}`, body);
  expect(await put('running', { reason: 'b' })).toMatchObject({ status: 400 });
  for (const body of [{}, { forMs: 1_000 }, { reason: 'b', forMs: 0 }, { reason: 'b', by: 'ada' }])
    expect(await put('placement', body)).toMatchObject({ status: 400 });
  const old = switchesCodec.encode({ ...SWITCHES_OFF, pausePlacement: true });
  await world.write([{ kind: 'put', key: world.keys.switches, value: old }]);
  await settle();
  expect((await world.call('GET', `${address}/v1/pauses`)).body).toEqual({ pauses: { placement: null } });
});
