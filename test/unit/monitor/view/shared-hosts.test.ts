import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Monitor } from '../../../../monitor/monitor.ts';
import { until } from '../../../support/manual-clock.ts';
import { MonitorWorld } from '../../../support/monitor-world.ts';
import type { ReportingHost } from '../../../support/reporting-host.ts';
import { reportOf } from '../../../support/reporting-host.ts';

const HOSTS = 12;

let world: MonitorWorld;
let hosts: ReportingHost[];
beforeEach(async () => {
  world = new MonitorWorld();
  hosts = await world.hosts(HOSTS);
});
afterEach(() => world.close());

const streams = (): number => hosts.reduce((sum, { readers }) => sum + readers, 0);
const silent = ({ state }: Monitor): readonly string[] =>
  [...state.follower.view.hosts()]
    .filter(({ staleSinceMs }) => staleSinceMs !== null)
    .map(({ host }) => host);
const stateAt = ({ state }: Monitor, id: string) => state.follower.view.allocation(id)?.state;

/** Two monitors, once each follows its own share alone. */
async function sharing(): Promise<Record<'m1' | 'm2', { monitor: Monitor; address: string }>> {
  const monitors = { m1: await world.monitor('m1'), m2: await world.monitor('m2') };
  for (let second = 0; second < 5 && streams() > HOSTS; second++) await world.pass(1, hosts);
  expect(streams()).toBe(HOSTS);
  await until(() => monitors.m1.monitor.state.follower.view.complete);
  await until(() => monitors.m2.monitor.state.follower.view.complete);
  return monitors;
}

/** Whoever has that name cannot reach these any more. */
function cut(from: string, addresses: readonly string[]): void {
  for (const address of addresses) {
    world.severed.add(`${from} ${address}`);
    world.network.cut(address);
  }
}

describe('monitors share the hosts', () => {
  it('S4.4 each host has one stream, and every monitor shows all of them', async () => {
    const { m1, m2 } = await sharing();
    hosts.forEach((host, n) => host.change(reportOf(host.id, `a${String(n)}`)));
    for (const { monitor } of [m1, m2]) await until(() => monitor.state.follower.view.size === HOSTS);
    hosts[0]?.gone('a0');
    for (const { monitor } of [m1, m2]) await until(() => stateAt(monitor, 'a0') === undefined);
    // What is known only through the other one does not grow old, since that one is heard.
    await world.pass(10, hosts);
    for (const { monitor } of [m1, m2]) expect(silent(monitor)).toEqual([]);
    expect(streams()).toBe(HOSTS);
  });

  it('S4.4 I51 the other monitor takes over the hosts of one that ends, and misses nothing', async () => {
    const { m1, m2 } = await sharing();
    await m1.monitor.close();
    hosts.forEach((host, n) => host.change(reportOf(host.id, `a${String(n)}`)));
    await world.pass(3, hosts);
    await until(() => m2.monitor.state.follower.view.size === HOSTS);
    expect(streams()).toBe(HOSTS);
    expect(silent(m2.monitor)).toEqual([]);
  });

  it('S4.4 I51 a host that one monitor cannot reach is followed by the other, and given back', async () => {
    const { m1, m2 } = await sharing();
    cut(
      'm1',
      hosts.map(({ address }) => address),
    );
    await world.pass(8, hosts);
    for (const { monitor } of [m1, m2]) expect(silent(monitor)).toEqual([]);
    hosts.forEach((host, n) => host.change(reportOf(host.id, `a${String(n)}`)));
    for (const { monitor } of [m1, m2]) await until(() => monitor.state.follower.view.size === HOSTS);
    world.severed.clear();
    await world.pass(30, hosts);
    expect(streams()).toBe(HOSTS);
    for (const { monitor } of [m1, m2]) expect(silent(monitor)).toEqual([]);
  });

  it('I18 a host that no monitor hears is silent to all of them, with what was known', async () => {
    const { m1, m2 } = await sharing();
    hosts[0]?.change(reportOf('h1', 'a1'));
    for (const { monitor } of [m1, m2]) await until(() => stateAt(monitor, 'a1') === 'running');
    const unreachable = hosts.slice(0, 1).map(({ address }) => address);
    for (const name of ['m1', 'm2']) cut(name, unreachable);
    await world.pass(10, hosts);
    for (const { monitor } of [m1, m2]) {
      expect(silent(monitor)).toEqual(['h1']);
      expect(stateAt(monitor, 'a1')).toBe('running');
    }
    hosts[0]?.change(reportOf('h1', 'a1', { state: 'complete' }));
    world.severed.clear();
    await world.pass(10, hosts);
    for (const { monitor } of [m1, m2]) await until(() => stateAt(monitor, 'a1') === 'complete');
    for (const { monitor } of [m1, m2]) expect(silent(monitor)).toEqual([]);
  });

  it('a host that is removed is forgotten by both, though it goes on talking', async () => {
    const { m1, m2 } = await sharing();
    await world.write([{ kind: 'delete', key: world.keys.host('h1') }]);
    hosts[0]?.change(reportOf('h1', 'a1'));
    await world.pass(3, hosts);
    for (const { monitor } of [m1, m2]) {
      expect(monitor.state.follower.view.host('h1')).toBeUndefined();
      expect(stateAt(monitor, 'a1')).toBeUndefined();
    }
  });

  it('two monitors that cannot reach each other follow every host, and share again', async () => {
    const { m1, m2 } = await sharing();
    cut('m1', [m2.address]);
    cut('m2', [m1.address]);
    await world.pass(5, hosts);
    expect(streams()).toBe(2 * HOSTS);
    for (const { monitor } of [m1, m2]) expect(silent(monitor)).toEqual([]);
    world.severed.clear();
    await world.pass(30, hosts);
    expect(streams()).toBe(HOSTS);
  });

  it('S3.24 each monitor knows of a wrong clock, and that it is right again', async () => {
    const { m1, m2 } = await sharing();
    const alarms = async (minutes: number, aheadMs: number): Promise<readonly string[][]> => {
      for (let second = 0; second < minutes * 60; second++) {
        hosts[0]?.beat(world.clock.nowMs() + aheadMs);
        await world.pass(1, hosts.slice(1));
      }
      return [m1, m2].map(({ monitor }) =>
        monitor.alarms.standing().alarms.map(({ kind, subject }) => `${kind} ${subject}`),
      );
    };
    expect(await alarms(2, 60_000)).toEqual([['clock h1'], ['clock h1']]);
    expect(await alarms(1, 0)).toEqual([[], []]);
  });
});
