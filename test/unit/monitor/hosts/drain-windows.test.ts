import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle, until } from '../../../support/manual-clock.ts';
import type { HostStatus } from '../../../../src/wire/api/monitor-api.ts';
import type { CellStatus } from '../../../../src/wire/api/cell-api.ts';
import type { Why } from '../../../../src/wire/api/scheduler-api.ts';
import { allocationOf, MonitorWorld } from '../../../support/monitor-world.ts';
import type { ReportingHost } from '../../../support/reporting-host.ts';

const MINUTE_MS = 60_000;
let world: MonitorWorld;
let hosts: ReportingHost[];
let address: string;

async function monitor(id: string): Promise<string> {
  const one = await world.monitor(id);
  await until(() => one.monitor.state.follower.view.complete && one.monitor.state.copy.hosts.size === 2);
  return one.address;
}

beforeEach(async () => {
  world = new MonitorWorld();
  hosts = [await world.host('h1'), await world.host('h2')];
  address = await monitor('m1');
});
afterEach(() => world.close());

async function pass(ms: number, living: readonly ReportingHost[] = hosts): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1_000) {
    await world.clock.advance(1_000);
    for (const host of living) host.beat();
    await settle();
  }
}

const say = (body: object) => world.call('POST', `${address}/v1/hosts/h1/eligibility`, body);
const plan = (more: object = {}) =>
  say({ state: 'draining', reason: 'new disks', atMs: world.clock.nowMs() + 10 * MINUTE_MS, ...more });

async function events(): Promise<readonly string[]> {
  const stream = await world.call('GET', `${address}/v1/events?since=0&follow=false`, undefined, {
    accept: 'application/x-ndjson',
  });
  return [...String(stream.body).matchAll(/"kind":"((?:host-|drain-)[a-z]+)"/g)].map(
    ([, kind]) => kind ?? '',
  );
}

describe('a planned drain', () => {
  it('I62 S0.37 leaves its host as it is, begins at its time, and ends by itself', async () => {
    const startMs = world.clock.nowMs();
    const answer = await plan({ forMs: 5 * MINUTE_MS, deadlineMs: MINUTE_MS });
    expect(answer).toMatchObject({ status: 200, body: { eligibility: { state: 'ready', counter: 0 } } });
    expect(await world.ledgerOf('h1')).toBeNull();
    const status = (await world.call('GET', `${address}/v1/cell`)).body as CellStatus;
    const window = { atMs: startMs + 10 * MINUTE_MS, endsAtMs: startMs + 15 * MINUTE_MS };
    expect(status.drains).toMatchObject([{ host: 'h1', state: 'ready', window }]);
    await pass(10 * MINUTE_MS - 5_000);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'ready' });
    await pass(10_000);
    const drained = await world.eligibilityOf('h1');
    expect(drained).toMatchObject({ state: 'draining', by: 'operator', reason: 'new disks', counter: 1 });
    expect(drained?.drainDeadlineMs).toBe((drained?.window?.beganAtMs ?? 0) + MINUTE_MS);
    expect(await world.ledgerOf('h1')).toMatchObject({ state: 'draining', counter: 1 });
    await pass(5 * MINUTE_MS);
    const after = await world.eligibilityOf('h1');
    expect(after).toMatchObject({ state: 'ready', reason: 'its drain is over', counter: 2 });
    expect(after).not.toHaveProperty('window');
    expect(after).not.toHaveProperty('drainDeadlineMs');
    expect(await events()).toEqual(['drain-planned', 'host-draining', 'host-ready']);
  });

  it('outlives the monitor that was asked, and two others begin it once', async () => {
    await plan();
    await world.closeMonitors();
    await pass(11 * MINUTE_MS);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'ready' });
    address = await monitor('m2');
    await monitor('m3');
    await pass(10_000);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'draining', counter: 1 });
  });

  it('is cancelled by ready without a change of the ledger, and by a drain of now', async () => {
    await plan();
    const ready = await say({ state: 'ready', reason: 'not now' });
    expect((ready.body as HostStatus).eligibility).not.toHaveProperty('window');
    expect(await world.ledgerOf('h1')).toBeNull();
    await pass(11 * MINUTE_MS);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'ready', counter: 0 });
    await plan({ forMs: MINUTE_MS });
    await say({ state: 'draining', reason: 'broken' });
    await pass(12 * MINUTE_MS);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'draining', reason: 'broken' });
    expect(await events()).toEqual(['drain-planned', 'drain-cancelled', 'drain-planned', 'host-draining']);
  });

  it('is kept by a cordon before it, and ended by one during it', async () => {
    await plan({ forMs: 20 * MINUTE_MS });
    await say({ state: 'cordoned', reason: 'look first' });
    await pass(11 * MINUTE_MS);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'draining', reason: 'new disks' });
    await say({ state: 'cordoned', reason: 'stay' });
    await pass(MINUTE_MS);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'cordoned', reason: 'stay' });
  });

  it('goes on when its host was lost and is back, until it ends', async () => {
    await say({ state: 'draining', reason: 'new disks', forMs: 10 * MINUTE_MS });
    await hosts[0]?.close();
    await world.write([{ kind: 'delete', key: world.keys.aliveOf('h1') }]);
    await pass(MINUTE_MS, hosts.slice(1));
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'lost' });
    hosts = [await world.host('h1'), ...hosts.slice(1)];
    await pass(10_000);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'draining', reason: 'new disks' });
    await pass(10 * MINUTE_MS);
    expect(await world.eligibilityOf('h1')).toMatchObject({ state: 'ready' });
  });

  it('is told by why to jobs with something there', async () => {
    await world.call('POST', `${address}/v1/jobs`, { name: 'web', command: ['sleep', '9'] });
    await world.place(allocationOf('h1', 'a1', { job: 'web' }));
    await plan();
    const why = (await world.call('GET', `${address}/v1/jobs/default/web/why`)).body as Why;
    expect(why.summary).toMatch(/h1 is drained from .+Z by operator: new disks/);
  });

  it('a time that is past, a contradiction and a field that is none of a drain are refused', async () => {
    const nowMs = world.clock.nowMs();
    const refused = async (body: object) => {
      const { status, body: problem } = await say({ state: 'draining', reason: '', ...body });
      expect(status).toBe(400);
      return problem as { readonly detail: string; readonly path: string };
    };
    expect((await refused({ atMs: nowMs - 1 })).detail).toContain('is past');
    expect((await refused({ atMs: nowMs })).path).toBe('atMs');
    expect((await refused({ atMs: nowMs + 400 * 24 * 60 * MINUTE_MS })).detail).toContain('a year');
    expect((await refused({ atMs: 'soon' })).path).toBe('atMs');
    expect((await refused({ forMs: 0 })).path).toBe('forMs');
    expect((await refused({ forMs: 1_000, deadlineMs: 2_000 })).path).toBe('deadlineMs');
    expect((await refused({ state: 'ready', forMs: 1_000 })).detail).toBe('only a drain has it');
    expect(await world.eligibilityOf('h1')).toBeNull();
  });
});
