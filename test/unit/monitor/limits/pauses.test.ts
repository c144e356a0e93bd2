import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Pause } from '../../../../src/core/quota/pauses.ts';
import { pauseCodec } from '../../../../src/wire/records/records.ts';
import { ENDED_KEPT_MS } from '../../../../monitor/limits/pauses.ts';
import { pauseRecord } from '../../../support/pauses.ts';
import { settle } from '../../../support/manual-clock.ts';
import { MonitorWorld } from '../../../support/monitor-world.ts';

let world: MonitorWorld;
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(() => world.close());

const stored = (name: string): Promise<Pause | null> => world.read(world.keys.pause(name), pauseCodec);

async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await world.clock.advance(1_000);
    await settle();
  }
}

it('S3.59 S3.20 an operator pauses apart, in the cell and in scopes of it, says why, and has them go on', async () => {
  const { address } = await world.monitor();
  const url = `${address}/v1/pauses`;
  expect(await world.call('GET', url)).toMatchObject({ status: 200, body: { pauses: [] } });
  const why = { reason: 'new disks' };
  const team = { namespace: 'team-a' };
  await world.call('PUT', `${url}/rollouts`, { ...why, ...team, job: 'web' });
  await world.call('PUT', `${url}/eviction`, { ...why, pool: 'Rack 7' });
  await world.call('PUT', `${url}/restarts`, { ...why, host: 'h1' });
  await world.call('PUT', `${url}/placement`, { ...why, ...team });
  const all = await world.call('PUT', `${url}/placement`, why);
  expect(all).toMatchObject({
    status: 200,
    body: {
      pauses: [
        { what: 'placement', ...why, by: 'operator' },
        { what: 'placement', ...team },
        { what: 'rollouts', ...team, job: 'web' },
        { what: 'eviction', pool: 'Rack 7' },
        { what: 'restarts', host: 'h1' },
      ],
    },
  });
  // What schedulers, arbiters and agents read.
  expect(await stored('placement/cell')).toEqual({
    ...{ what: 'placement', ...why, by: 'operator', sinceMs: world.clock.nowMs() },
  });
  expect(await stored('rollouts/job/team-a/web')).toMatchObject(why);
  await world.call('DELETE', `${url}/placement`);
  await world.call('DELETE', `${url}/eviction?pool=Rack%207`);
  const left = await world.call('DELETE', `${url}/rollouts?namespace=team-a&job=web`);
  expect(left.body).toMatchObject({
    pauses: [
      { what: 'placement', ...team },
      { what: 'restarts', host: 'h1' },
    ],
  });
  expect((await world.call('DELETE', `${url}/eviction`)).body).toEqual(left.body);
  const events = await world.call('GET', `${address}/v1/events?since=0&follow=false`);
  expect(events.body).toMatch(/"kind":"paused","source":"operator"[^\n]*new disks/);
  expect(events.body).toMatch(/"kind":"resumed"[^\n]*eviction in pool Rack 7 goes on/);
});

it('S3.59 a pause for a time ends by itself, once, and not when it was renewed meanwhile; its record goes a day later', async () => {
  const { address } = await world.monitor();
  await world.monitor('m2');
  const put = (forMs: number) =>
    world.call('PUT', `${address}/v1/pauses/placement`, { reason: 'disks', forMs });
  await put(5_000);
  await pass(3);
  await put(10_000);
  await pass(5);
  expect(await stored('placement/cell')).not.toHaveProperty('endedAtMs');
  await pass(6);
  expect(await stored('placement/cell')).toHaveProperty('endedAtMs');
  expect((await world.call('GET', `${address}/v1/pauses`)).body).toEqual({ pauses: [] });
  const at = (await stored('placement/cell'))?.endedAtMs;
  await pass(5);
  expect((await stored('placement/cell'))?.endedAtMs).toBe(at);
  const [key, value] = pauseRecord(world.keys, {
    host: 'h1',
    endedAtMs: world.clock.nowMs() - ENDED_KEPT_MS,
  });
  await world.write([{ kind: 'put', key, value }]);
  await pass(2);
  expect(await stored('placement/host/h1')).toBeNull();
  expect(await stored('placement/cell')).not.toBeNull();
});

it('refuses what cannot be paused, a pause without a reason, and a scope of two kinds', async () => {
  const { address } = await world.monitor();
  const put = (what: string, body: unknown) => world.call('PUT', `${address}/v1/pauses/${what}`, body);
  expect(await put('running', { reason: 'b' })).toMatchObject({ status: 400 });
  for (const body of [{}, { forMs: 1_000 }, { reason: 'b', forMs: 0 }, { reason: 'b', by: 'ada' }])
    expect(await put('placement', body)).toMatchObject({ status: 400 });
  const scopes = [{ job: 'web' }, { namespace: 'a', host: 'h' }, { host: 'h', pool: 'p' }, { host: 'NO' }];
  for (const scope of scopes)
    expect(await put('placement', { reason: 'b', ...scope })).toMatchObject({ status: 400 });
  const { status } = await world.call('DELETE', `${address}/v1/pauses/placement?job=web`);
  expect(status).toBe(400);
});
