import { afterEach, describe, expect, it } from 'vitest';
import { MemoryNetwork } from '../../../support/memory-network.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import type { ReportHandlers } from '../../../../src/runtime/reports/cell-view.ts';
import type { ReportFollowerOptions } from '../../../../src/runtime/reports/reports.ts';
import { SILENCE_MS } from '../../../../src/runtime/reports/beat-interval.ts';
import { ReportFollower } from '../../../../src/runtime/reports/reports.ts';
import { ManualClock, until } from '../../../support/manual-clock.ts';
import { ReportingHost, reportOf } from '../../../support/reporting-host.ts';

const followers: ReportFollower[] = [];
afterEach(async () => {
  await Promise.all(followers.splice(0).map((follower) => follower.close()));
});

function follow(
  network: MemoryNetwork,
  clock: ManualClock,
  sources: () => readonly { name: string; url: string }[],
  more: { handlers?: ReportHandlers; options?: Partial<ReportFollowerOptions> } = {},
): ReportFollower {
  const follower = new ReportFollower({
    http: network.client(),
    clock,
    random: seededRandom(1),
    log: silentLog,
    sources,
    ...(more.handlers === undefined ? {} : { handlers: more.handlers }),
    options: { mode: 'all', ...more.options },
  });
  followers.push(follower);
  follower.refresh();
  return follower;
}

async function world(count: number) {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const hosts: ReportingHost[] = [];
  for (let n = 1; n <= count; n++)
    hosts.push(await new ReportingHost(`h${String(n)}`).listen(network.server()));
  const sources = () => hosts.map((host) => ({ name: host.id, url: host.address }));
  return { clock, network, hosts, sources };
}

describe('ReportFollower, all hosts', () => {
  it('hosts beyond the limit of streams become silent, and are followed when a place is free', async () => {
    const { clock, network, hosts, sources } = await world(3);
    const told: number[] = [];
    const options = { streamsMax: 2, onUnfollowed: (count: number) => void told.push(count) };
    const follower = follow(network, clock, sources, { options });
    await until(() => follower.view.host('h2')?.asOfMs != null);
    await clock.advance(SILENCE_MS + 1_000);
    await until(() => follower.view.host('h3')?.staleSinceMs != null);
    expect(follower.view.host('h3')?.asOfMs).toBeNull();
    hosts.shift();
    follower.refresh();
    await until(() => follower.view.host('h3')?.asOfMs != null);
    expect(told).toEqual([1, 0]);
  });

  it('is at rest while there is no host to follow, and looks for silent ones as soon as there is', async () => {
    const { clock, network, hosts, sources } = await world(1);
    let isWanted = false;
    const follower = follow(network, clock, () => (isWanted ? sources() : []));
    expect(follower.view.complete).toBe(true);
    expect(clock.pending).toBe(0);
    isWanted = true;
    follower.refresh();
    await until(() => follower.view.host('h1')?.asOfMs != null);
    await hosts[0]?.close();
    await clock.advance(SILENCE_MS + 2_000);
    expect(follower.view.host('h1')?.staleSinceMs).not.toBeNull();
  });

  it('merges every host and says when the view is complete', async () => {
    const { clock, network, hosts, sources } = await world(3);
    hosts[1]?.change(reportOf('h2', 'a1'));
    const follower = follow(network, clock, sources);
    expect(follower.view.complete).toBe(false);
    await until(() => follower.view.complete);
    expect(follower.view.allocation('a1')?.host).toBe('h2');
    expect(follower.view.host('h1')?.staleSinceMs).toBeNull();
    hosts[1]?.change(reportOf('h2', 'a1', { state: 'complete' }));
    await until(() => follower.view.get('h2', 'a1')?.state === 'complete');
    hosts[1]?.gone('a1');
    await until(() => follower.view.size === 0);
  });

  it('I51 S4.36 a silent host is stale since its last message, and keeps its allocations', async () => {
    const { clock, network, hosts, sources } = await world(2);
    hosts[0]?.change(reportOf('h1', 'a1'));
    const changes: string[] = [];
    const handlers: ReportHandlers = {
      onHost: (freshness, what) => changes.push(`${freshness.host} ${what}`),
    };
    const follower = follow(network, clock, sources, { handlers });
    await until(() => follower.view.complete);
    const heardMs = clock.nowMs();
    await hosts[0]?.close();
    for (let n = 0; n < 10; n++) {
      await clock.advance(1_000);
      hosts[1]?.beat();
    }
    await until(() => changes.includes('h1 silent'));
    expect(follower.view.host('h1')).toMatchObject({
      staleSinceMs: heardMs,
      asOfMs: heardMs,
      allocations: 1,
    });
    expect(follower.view.allocation('a1')?.state).toBe('running');
    expect(follower.view.host('h2')?.staleSinceMs).toBeNull();
  });

  it('S0.9 a host is silent after as many missed beats as were asked for, and one fewer change nothing', async () => {
    const [beatMs, misses] = [2_000, 4];
    const { clock, network, hosts, sources } = await world(1);
    const changes: string[] = [];
    const onHost: ReportHandlers['onHost'] = (freshness, what) =>
      void changes.push(`${freshness.host} ${what}`);
    const options = { silenceMs: beatMs * misses };
    const follower = follow(network, clock, sources, { handlers: { onHost }, options });
    await until(() => follower.view.complete);
    for (let round = 0; round < 3; round++) {
      hosts[0]?.beat();
      await clock.advance(beatMs * (misses - 1));
    }
    expect(changes).not.toContain('h1 silent');
    expect(follower.view.host('h1')?.staleSinceMs).toBeNull();
    await clock.advance(beatMs * 2);
    await until(() => changes.includes('h1 silent'));
  });

  it('S0.9 of many hosts each says less often that it is there; one whose stream ends is missed as soon as ever', async () => {
    const { clock, network, hosts, sources } = await world(2);
    const absent = Array.from({ length: 700 }, (_, n) => ({
      ...{ name: `x${String(n)}`, url: 'http://memory/999' },
    }));
    const follower = follow(network, clock, () => [...sources(), ...absent]);
    const isStale = (host: string): boolean => follower.view.host(host)?.staleSinceMs !== null;
    await until(() => !isStale('h1') && !isStale('h2'));
    await clock.advance(1_000);
    expect(hosts[0]?.queries.at(-1)).toMatchObject({ beatMs: '2000' });
    hosts[0]?.beat();
    await hosts[1]?.close();
    await clock.advance(SILENCE_MS + 1_000);
    expect([isStale('h1'), isStale('h2')]).toEqual([false, true]);
    await clock.advance(SILENCE_MS);
    expect(isStale('h1')).toBe(true);
    expect(follower.hostSilenceMs).toBe(6_000);
  });

  it('counts a host that never answers as timed out, so that the view becomes complete', async () => {
    const { clock, network, sources } = await world(1);
    const follower = follow(network, clock, () => [...sources(), { name: 'h9', url: 'http://memory/999' }]);
    await until(() => follower.view.host('h1')?.asOfMs !== null);
    expect(follower.view.complete).toBe(false);
    await clock.advance(5_000);
    expect(follower.view.complete).toBe(true);
    expect(follower.view.host('h9')).toMatchObject({ asOfMs: null, incarnation: -1 });
    expect(follower.view.host('h9')?.staleSinceMs).not.toBeNull();
  });

  it('resumes from where it stood after a cut, and misses nothing', async () => {
    const { clock, network, hosts, sources } = await world(1);
    const [host] = hosts;
    if (host === undefined) throw new Error('no host');
    const follower = follow(network, clock, sources);
    await until(() => follower.view.complete);
    network.cut(host.address);
    host.change(reportOf('h1', 'a1'));
    await clock.advance(1_000);
    await until(() => follower.view.allocation('a1') !== undefined);
    expect(host.resumed).toBe(1);
  });

  it('I50 a restarted agent with a new incarnation replaces what the old one said', async () => {
    const { clock, network, hosts, sources } = await world(1);
    const [host] = hosts;
    if (host === undefined) throw new Error('no host');
    host.change(reportOf('h1', 'a1'));
    const changes: string[] = [];
    const follower = follow(network, clock, sources, {
      handlers: { onHost: (_sight, what) => changes.push(what) },
    });
    await until(() => follower.view.size === 1);
    host.incarnation = 2;
    host.seq = 0;
    host.reports.clear();
    host.endStreams();
    await clock.advance(1_000);
    await until(() => follower.view.size === 0);
    expect(changes).toEqual(['reporting', 'restarted']);
    expect(follower.view.host('h1')).toMatchObject({ incarnation: 2, seq: 0 });
  });

  it('forgets a host whose registration is gone', async () => {
    const { clock, network, hosts, sources } = await world(2);
    hosts[0]?.change(reportOf('h1', 'a1'));
    let known = sources();
    const gone: string[] = [];
    const follower = follow(network, clock, () => known, { handlers: { onGone: ({ id }) => gone.push(id) } });
    await until(() => follower.view.complete && follower.view.size === 1);
    known = known.slice(1);
    follower.refresh();
    expect([...follower.view.hosts()].map((freshness) => freshness.host)).toEqual(['h2']);
    expect(gone).toEqual(['a1']);
  });

  it('F21 ignores what a host says about another', async () => {
    const { clock, network, hosts, sources } = await world(2);
    const follower = follow(network, clock, sources);
    await until(() => follower.view.complete);
    hosts[0]?.change(reportOf('h2', 'forged'));
    await clock.advance(1_000);
    expect(follower.view.allocation('forged')).toBeUndefined();
  });
});
