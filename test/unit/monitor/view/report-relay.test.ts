import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import type { ReportSource } from '../../../../src/runtime/reports/stream-reader.ts';
import { ReportFollower } from '../../../../src/runtime/reports/reports.ts';
import { settle, until } from '../../../support/manual-clock.ts';
import { MonitorWorld } from '../../../support/monitor-world.ts';
import type { ReportingHost } from '../../../support/reporting-host.ts';
import { reportOf } from '../../../support/reporting-host.ts';

let world: MonitorWorld;
const followers: ReportFollower[] = [];
beforeEach(() => {
  world = new MonitorWorld();
});
afterEach(async () => {
  await Promise.all(followers.splice(0).map((follower) => follower.close()));
  await world.close();
});

/** @param kept jobs whose reports are kept; null: all */
function follow(
  sources: () => readonly ReportSource[],
  seen: string[] = [],
  kept: ReadonlySet<string> | null = null,
): ReportFollower {
  const follower = new ReportFollower({
    ...{
      http: world.network.client('s1'),
      clock: world.clock,
      random: seededRandom(3),
      log: silentLog,
      sources,
    },
    handlers: {
      keeps: ({ namespace, job }) => kept?.has(`${namespace}/${job}`) ?? true,
      onReport: (report) => seen.push(`${report.id} ${report.state}`),
      onHost: (freshness, what) => seen.push(`${freshness.host} ${what}`),
    },
    options: { mode: 'any-one' },
  });
  followers.push(follower);
  follower.refresh();
  return follower;
}

describe('the merged view as a source', () => {
  it('S4.24 a follower of one monitor sees what the monitor sees', async () => {
    const hosts = [await world.host('h1'), await world.host('h2')];
    hosts[0]?.change(reportOf('h1', 'a1'));
    const { monitor, address } = await world.monitor();
    await until(() => monitor.state.follower.view.size === 1);
    const follower = follow(() => [{ name: 'm1', url: address }]);
    await until(() => follower.view.complete);
    expect(follower.view.allocation('a1')?.state).toBe('running');
    hosts[1]?.change(reportOf('h2', 'a2'));
    await until(() => follower.view.size === 2);
    hosts[0]?.gone('a1');
    await until(() => follower.view.allocation('a1') === undefined);
    expect(
      [...follower.view.hosts()].map((freshness) => [freshness.host, freshness.seq, freshness.staleSinceMs]),
    ).toEqual([
      ['h1', 2, null],
      ['h2', 1, null],
    ]);
  });

  it('I48 what a host says first after a silence reaches those who follow a monitor, too', async () => {
    const host = await world.host('h1');
    host.change(reportOf('h1', 'a1'));
    const { monitor, address } = await world.monitor();
    await until(() => monitor.state.follower.view.size === 1);
    const follower = follow(() => [{ name: 'm1', url: address }]);
    await until(() => follower.view.complete);
    await world.pass(5, []);
    expect(monitor.state.follower.view.host('h1')?.staleSinceMs).not.toBeNull();
    host.change(reportOf('h1', 'a1', { state: 'complete', released: true }));
    await world.pass(5, []);
    await until(() => monitor.state.follower.view.allocation('a1')?.state === 'complete');
    await settle();
    expect(follower.view.allocation('a1')?.state).toBe('complete');
  });

  it('S4.4 I50 fails over to another monitor: all is repaired, and nothing goes back', async () => {
    const host = await world.host('h1');
    host.change(reportOf('h1', 'a1'));
    const [one, two] = [await world.monitor('m1'), await world.monitor('m2')];
    for (const { monitor } of [one, two]) await until(() => monitor.state.follower.view.size === 1);
    const seen: string[] = [];
    const sources = [
      { name: 'm1', url: one.address },
      { name: 'm2', url: two.address },
    ];
    const follower = follow(() => sources, seen);
    await until(() => follower.view.complete);
    const first = follower.source;
    await (first === 'm1' ? one : two).monitor.close();
    host.change(reportOf('h1', 'a1', { state: 'complete' }));
    await world.clock.advance(1_000);
    await until(() => follower.view.allocation('a1')?.state === 'complete');
    await until(() => follower.view.complete);
    expect(follower.source).not.toBe(first);
    expect(seen.filter((line) => line.startsWith('a1'))).toEqual(['a1 running', 'a1 complete']);
  });

  /** Two monitors, and a follower that is with the first of them when it loses the hosts. */
  async function followCutOff(hosts: readonly ReportingHost[]) {
    const monitors = { m1: await world.monitor('m1'), m2: await world.monitor('m2') };
    let names: readonly ('m1' | 'm2')[] = ['m1'];
    const follower = follow(() => names.map((name) => ({ name, url: monitors[name].address })));
    await until(() => follower.view.complete);
    names = ['m1', 'm2'];
    const sever = (name: 'm1' | 'm2', cut: readonly ReportingHost[]): void => {
      for (const { address } of cut) world.severed.add(`${name} ${address}`);
      for (const { address } of cut) world.network.cut(address);
      // Nor does it hear of them through the other monitor.
      const [from, to] = name === 'm1' ? (['m1', 'm2'] as const) : (['m2', 'm1'] as const);
      world.severed.add(`${from} ${monitors[to].address}`);
      world.network.cut(monitors[to].address);
    };
    const reporting = (): number =>
      [...follower.view.hosts()].filter((host) => host.staleSinceMs === null).length;
    expect(reporting()).toBe(hosts.length);
    return { follower, sever, reporting };
  }

  it('S4.4 leaves a monitor that is cut off from most hosts, though it is up', async () => {
    const hosts = [await world.host('h1'), await world.host('h2'), await world.host('h3')];
    const { follower, sever, reporting } = await followCutOff(hosts);
    sever('m1', hosts.slice(1));
    await world.pass(30, hosts);
    expect(follower.source).toBe('m2');
    expect(reporting()).toBe(3);
    hosts[1]?.change(reportOf('h2', 'a1'));
    await until(() => follower.view.allocation('a1') !== undefined);
  });

  it('S4.4 stays with a monitor that hears half of the hosts', async () => {
    const hosts = [await world.host('h1'), await world.host('h2')];
    const { follower, sever, reporting } = await followCutOff(hosts);
    sever('m1', hosts.slice(1));
    await world.pass(60, hosts);
    expect(follower.source).toBe('m1');
    expect(reporting()).toBe(1);
  });

  it('S4.4 goes round the monitors ever more rarely when none hears the hosts', async () => {
    const hosts = [await world.host('h1'), await world.host('h2')];
    const { follower, sever } = await followCutOff(hosts);
    sever('m1', hosts);
    sever('m2', hosts);
    let changes = 0;
    let last = follower.source;
    for (let second = 0; second < 300; second++) {
      await world.pass(1, hosts);
      const now = follower.source ?? last;
      if (now !== last) changes += 1;
      last = now;
    }
    // One at once, others after 30 to 60 and 60 to 120 seconds; the fourth not before 120 more.
    expect(changes).toBeGreaterThanOrEqual(2);
    expect(changes).toBeLessThanOrEqual(4);
  });

  it('I51 passes on that a host is silent, and that it reports again', async () => {
    const [quiet, other] = [await world.host('h1'), await world.host('h2')];
    quiet.change(reportOf('h1', 'a1'));
    const { address } = await world.monitor();
    const seen: string[] = [];
    const follower = follow(() => [{ name: 'm1', url: address }], seen);
    await until(() => follower.view.complete && follower.view.size === 1);
    const heardMs = world.clock.nowMs();
    await quiet.close();
    await world.pass(6, [other]);
    expect(seen).toContain('h1 silent');
    expect(follower.view.host('h1')).toMatchObject({ staleSinceMs: heardMs, allocations: 1 });
    const back = await world.host('h1');
    back.incarnation = 2;
    await world.pass(2, [other, back]);
    await until(() => follower.view.host('h1')?.staleSinceMs === null);
    expect(follower.view.host('h2')?.staleSinceMs).toBeNull();
  });

  it('I51 with no monitor left all hosts are stale, and none is gone', async () => {
    const host = await world.host('h1');
    host.change(reportOf('h1', 'a1'));
    const { monitor, address } = await world.monitor();
    const follower = follow(() => [{ name: 'm1', url: address }]);
    await until(() => follower.view.complete && follower.view.size === 1);
    const heardMs = world.clock.nowMs();
    await monitor.close();
    await world.clock.advance(10_000);
    expect(follower.view.complete).toBe(false);
    expect(follower.view.host('h1')).toMatchObject({ staleSinceMs: heardMs, allocations: 1 });
    expect(follower.view.allocation('a1')?.state).toBe('running');
  });

  it('I50 keeps the wanted reports, and fetches the rest when asked', async () => {
    const host = await world.host('h1');
    for (const job of ['web', 'sum']) host.change(reportOf('h1', `${job}-1`, { job }));
    const { monitor, address } = await world.monitor();
    await until(() => monitor.state.follower.view.size === 2);
    const ours = new Set(['default/web']);
    const follower = follow(() => [{ name: 'm1', url: address }], [], ours);
    await until(() => follower.view.complete);
    expect([...follower.view.on('h1')].map(({ id }) => id)).toEqual(['web-1']);
    expect(follower.view.host('h1')).toMatchObject({ seq: 2, allocations: 1 });
    ours.add('default/sum');
    expect(await follower.fetchJob('default/sum')).toBe(true);
    expect([...follower.view.ofJob('default/sum')].map(({ id }) => id)).toEqual(['sum-1']);
    ours.delete('default/sum');
    follower.drop('default/sum');
    expect(follower.view.size).toBe(1);
    host.change(reportOf('h1', 'sum-1', { job: 'sum', state: 'complete' }));
    host.change(reportOf('h1', 'web-1', { state: 'complete' }));
    await until(() => follower.view.allocation('web-1')?.state === 'complete');
    expect(follower.view.size).toBe(1);
  });

  it('I50 learns of no monitor that does not yet know of every host, and of none when there is none', async () => {
    const [, silent] = [await world.host('h1'), await world.host('h2')];
    await silent.close();
    const { address } = await world.monitor();
    const sources = [{ name: 'm1', url: address }];
    const follower = follow(() => sources, [], new Set(['default/web']));
    await until(() => follower.view.host('h1') !== undefined);
    expect(await follower.fetchJob('default/web')).toBe(false);
    await world.pass(5, []);
    expect(await follower.fetchJob('default/web')).toBe(true);
    expect(await follow(() => [], [], new Set()).fetchJob('default/web')).toBe(false);
  });

  it('I48 I50 who keeps some jobs alone sees of them what the monitor sees, however jobs come and go', async () => {
    const hosts: ReportingHost[] = [];
    for (let n = 1; n <= 4; n++) hosts.push(await world.host(`h${String(n)}`));
    const { monitor, address } = await world.monitor();
    const ours = new Set<string>();
    const follower = follow(() => [{ name: 'm1', url: address }], [], ours);
    await until(() => follower.view.complete);
    const seed = 11;
    const random = seededRandom(seed);
    const learning = new Set<Promise<unknown>>();
    const learn = async (key: string): Promise<void> => {
      while (ours.has(key) && !(await follower.fetchJob(key))) await settle();
    };
    for (let step = 0; step < 400; step++) {
      const host = hosts[random.below(hosts.length)] as ReportingHost;
      const job = `j${String(random.below(3))}`;
      const key = `default/${job}`;
      const known = [...host.reports.values()][random.below(Math.max(1, host.reports.size))];
      const what = random.below(6);
      if (what === 0) host.change(reportOf(host.id, `${host.id}-${String(step)}`, { job }));
      else if (what === 1 && known !== undefined) host.gone(known.id);
      else if (what === 2 && known !== undefined) host.change({ ...known, restarts: step });
      else if (what === 3 && ours.delete(key)) follower.drop(key);
      else if (what >= 4 && !ours.has(key)) {
        ours.add(key);
        learning.add(learn(key));
      }
      if (random.below(3) === 0) await settle();
    }
    await Promise.all(learning);
    await settle();
    const view = (of: ReportFollower, jobKey: string) =>
      [...of.view.ofJob(jobKey)].map(({ id, host, restarts }) => `${host} ${id} ${String(restarts)}`).sort();
    expect(view(monitor.state.follower, 'default/j0'), `seed ${String(seed)}`).not.toEqual([]);
    expect(ours.size, `seed ${String(seed)}`).toBeGreaterThan(0);
    for (const key of ['default/j0', 'default/j1', 'default/j2'])
      expect(view(follower, key), `seed ${String(seed)}`).toEqual(
        ours.has(key) ? view(monitor.state.follower, key) : [],
      );
  });

  it('I48 after faults all monitors have the same view', async () => {
    const hosts: ReportingHost[] = [];
    for (let n = 1; n <= 5; n++) hosts.push(await world.host(`h${String(n)}`));
    const monitors = [await world.monitor('m1'), await world.monitor('m2'), await world.monitor('m3')];
    const random = seededRandom(5);
    for (let step = 0; step < 60; step++) {
      const host = hosts[random.below(hosts.length)];
      if (host === undefined) continue;
      const id = `${host.id}-${String(random.below(4))}`;
      if (random.below(4) === 0) host.gone(id);
      else host.change(reportOf(host.id, id, { restarts: step }));
      if (random.below(5) === 0) world.network.cut(host.address);
      if (random.below(3) === 0) await world.clock.advance(200);
    }
    await world.pass(10, hosts);
    const digestOf = (view: ReportFollower['view']) =>
      hosts.map((host) =>
        [...view.on(host.id)].map((report) => `${report.id} ${String(report.restarts)}`).sort(),
      );
    const truth = hosts.map((host) =>
      [...host.reports.values()].map((one) => `${one.id} ${String(one.restarts)}`).sort(),
    );
    for (const { monitor } of monitors) expect(digestOf(monitor.state.follower.view)).toEqual(truth);
  });
});
