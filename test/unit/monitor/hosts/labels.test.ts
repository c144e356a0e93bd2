import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MonitorClient } from '../../../../src/clients/monitor-client.ts';
import type { HostStatus, JobStatus } from '../../../../src/wire/api/monitor-api.ts';
import { hostCodec } from '../../../../src/wire/records/records.ts';
import { settle } from '../../../support/manual-clock.ts';
import { allocationOf, hostRecord, MonitorWorld } from '../../../support/monitor-world.ts';

let world: MonitorWorld;
let address = '';
beforeEach(async () => {
  world = new MonitorWorld();
  await world.host('h1');
  address = (await world.monitor()).address;
});
afterEach(() => world.close());

const label = (body: unknown, host = 'h1') => world.call('POST', `${address}/v1/hosts/${host}/labels`, body);
const status = async () => (await world.call('GET', `${address}/v1/hosts/h1`)).body as HostStatus;

async function eventually(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if (await holds()) return;
    await settle();
  }
  throw new Error('it never held');
}

describe('labels of hosts', () => {
  it('are attributes of the host, survive its agent and its drains, and go when they are taken away', async () => {
    const answer = await label({ set: { zone: 'a', rack: 'r1' } });
    expect(answer).toMatchObject({ status: 200, body: { host: { attributes: { zone: 'a', rack: 'r1' } } } });
    const again = { ...hostRecord('h1', 'http://h1'), incarnation: 9, attributes: { zone: 'of-agent' } };
    await world.write([{ kind: 'put', key: world.keys.host('h1'), value: hostCodec.encode(again) }]);
    await world.call('POST', `${address}/v1/hosts/h1/eligibility`, { state: 'cordoned', reason: 'x' });
    await eventually(async () => (await status()).host.incarnation === 9);
    expect(await status()).toMatchObject({
      host: { attributes: { zone: 'a', rack: 'r1' } },
      eligibility: { state: 'cordoned', labels: { zone: 'a', rack: 'r1' } },
    });
    expect((await label({ remove: ['zone'] })).body).toMatchObject({
      host: { attributes: { zone: 'of-agent', rack: 'r1' } },
    });
    await label({ remove: ['rack'] });
    expect((await world.eligibilityOf('h1'))?.labels).toBeUndefined();
  });

  it('move no counter: what is being placed or started there goes on', async () => {
    await world.place(allocationOf('h1', 'a1'));
    const before = await world.ledgerOf('h1');
    await label({ set: { zone: 'a' } });
    expect(await world.eligibilityOf('h1')).toMatchObject({
      state: 'ready',
      counter: 0,
      labels: { zone: 'a' },
    });
    expect(await world.ledgerOf('h1')).toEqual(before);
  });

  it('count for system jobs and their numbers', async () => {
    const file = { name: 'web', type: 'system', constraints: ['host.zone == a'], command: ['serve'] };
    await world.call('POST', `${address}/v1/jobs`, file);
    const desired = async () =>
      ((await world.call('GET', `${address}/v1/jobs/default/web`)).body as JobStatus).summary.counts.desired;
    expect(await desired()).toBe(0);
    await label({ set: { zone: 'a' } });
    await eventually(async () => (await desired()) === 1);
  });

  it('are told as an event', async () => {
    await label({ set: { zone: 'a' } });
    const client = new MonitorClient(world.http, { urls: [address], from: 'a test' });
    const kinds: string[] = [];
    await eventually(async () => {
      kinds.length = 0;
      for await (const { kind, detail } of client.events('0', { follow: false }))
        kinds.push(`${kind} ${detail}`);
      return kinds.includes('host-labelled zone=a');
    });
    expect(kinds.filter((kind) => kind.startsWith('host-ready'))).toEqual([]);
  });

  it.each([
    [{ set: { os: 'plan9' } }, 'os'],
    [{ set: { 'driver.oci': 'true' } }, 'driver.oci'],
    [{ set: { 'allow.agent-user': 'true' } }, 'allow.agent-user'],
    [{ remove: ['secrets'] }, 'secrets'],
    [{ set: { 'a b': 'c' } }, 'a b'],
    [{ set: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`l${String(n)}`, 'x'])) }, 'set'],
  ])('refuses %j: what a host says of itself is its own word', async (body, path) => {
    expect(await label(body)).toMatchObject({ status: 400, body: { code: 'bad-request', path } });
    expect(await label({ set: { zone: 'a' } }, 'h9')).toMatchObject({ status: 404 });
  });
});
