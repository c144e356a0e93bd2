import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LEAK_REASON, SETTLED_MS } from '../../../../monitor/hosts/leak-watch.ts';
import { LEAKING, LEAKS_MAX } from '../../../../src/core/host/host.ts';
import { hostCodec } from '../../../../src/wire/records/records.ts';
import { settle, until } from '../../../support/manual-clock.ts';
import { MonitorWorld } from '../../../support/monitor-world.ts';
import type { ReportingHost } from '../../../support/reporting-host.ts';

let world: MonitorWorld;
let hosts: ReportingHost[];
let address: string;
beforeEach(async () => {
  world = new MonitorWorld();
  hosts = [];
  for (const id of ['h1', 'h2', 'h3']) hosts.push(await world.host(id));
  const { monitor, address: own } = await world.monitor();
  address = own;
  await until(() => monitor.state.follower.view.complete && monitor.state.copy.hosts.size === hosts.length);
});
afterEach(() => world.close());

/** Registers anew, as an agent does when what it says of itself is another thing. */
async function saysLeaks(id: string, leaks: number): Promise<void> {
  const record = await world.read(world.keys.host(id), hostCodec);
  if (record === null) throw new Error(`no host ${id}`);
  const attributes = leaks === 0 ? {} : { [LEAKING]: String(leaks) };
  const value = hostCodec.encode({ ...record, attributes });
  await world.write([{ kind: 'put', key: world.keys.host(id), value }]);
  await settle();
}

async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1_000) {
    await world.clock.advance(1_000);
    for (const host of hosts) host.beat();
    await settle();
  }
}

async function events(): Promise<readonly string[]> {
  const stream = await world.call('GET', `${address}/v1/events?since=0&follow=false`, undefined, {
    accept: 'application/x-ndjson',
  });
  return [...String(stream.body).matchAll(/"kind":"(host-[a-z]+)"/g)].map(([, kind]) => kind ?? '');
}

const LONG_MS = SETTLED_MS + 30_000;

describe('a leaking host', () => {
  it('S3.14 S3.13 is drained when it has refused work for long, ready again when it has been clean for long, and events say so', async () => {
    await saysLeaks('h1', LEAKS_MAX + 1);
    await pass(SETTLED_MS - 30_000);
    expect(await world.eligibilityOf('h1')).toBeNull();
    await pass(60_000);
    expect(await world.eligibilityOf('h1')).toMatchObject({
      ...{ state: 'draining', reason: LEAK_REASON, by: 'm1', counter: 1 },
    });
    expect(await world.eligibilityOf('h1')).not.toHaveProperty('drainDeadlineMs');
    await saysLeaks('h1', LEAKS_MAX);
    await pass(SETTLED_MS - 30_000);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'draining' });
    await pass(60_000);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'ready', counter: 2 });
    const seen = (await events()).filter((kind) => kind !== 'host-joined' && kind !== 'host-alive');
    expect(seen).toEqual(['host-leaking', 'host-draining', 'host-clean', 'host-ready']);
    expect(await world.eligibilityOf('h2')).toBeNull();
  });

  it('S3.14 leaves alone what leaks for a short time, and what an operator has said', async () => {
    const url = `${address}/v1/hosts/h2/eligibility`;
    await world.call('POST', url, { state: 'draining', reason: 'new disks' });
    await saysLeaks('h2', LEAKS_MAX + 1);
    for (let times = 0; times < 3; times++) {
      await saysLeaks('h1', LEAKS_MAX + 1);
      await pass(SETTLED_MS - 60_000);
      await saysLeaks('h1', 0);
      await pass(30_000);
    }
    expect(await world.eligibilityOf('h1')).toBeNull();
    await saysLeaks('h2', 0);
    await pass(LONG_MS);
    expect(await world.eligibilityOf('h2')).toMatchObject({ state: 'draining', reason: 'new disks' });
  });

  it('S3.14 of many at once drains one: so many speak against how leaks are found', async () => {
    for (const { id } of hosts) await saysLeaks(id, LEAKS_MAX + 1);
    await pass(2 * LONG_MS);
    const states = await Promise.all(hosts.map(async ({ id }) => (await world.eligibilityOf(id))?.state));
    expect(states.filter((state) => state === 'draining')).toHaveLength(1);
  });
});
