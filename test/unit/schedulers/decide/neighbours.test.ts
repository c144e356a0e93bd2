import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SchedulerClient } from '../../../../src/clients/scheduler-client.ts';
import type { Job } from '../../../../src/core/cell/job.ts';
import type { Why } from '../../../../src/wire/api/scheduler-api.ts';
import { roleCodec } from '../../../../src/wire/records/records.ts';
import { CellWorld, keys, makeJob } from '../cell-world.ts';

const LATENCY = { class: 'latency', avoid: [{ class: 'noisy' }] };

describe('S3.17: classes of interference keep neighbours apart that harm each other, and bring others together', () => {
  let world: CellWorld;
  beforeEach(() => (world = new CellWorld()));
  afterEach(() => world.close());

  const hosts = async (count: number): Promise<void> => {
    for (let n = 1; n <= count; n++) await world.host(`h${String(n)}`, 64_000);
  };
  const noisy = (name: string, count = 1, part: Partial<Job> = {}): Job =>
    makeJob(name, part, { class: 'noisy', count }, 100);
  const latency = (name: string, count = 1, part: Partial<Job> = {}): Job =>
    makeJob(name, part, { ...LATENCY, count }, 100);
  /** The kinds on each host, by the first letter of the jobs. */
  const kinds = (): string[] => {
    const byHost = new Map<string, Set<string>>();
    for (const { host, job } of world.running()) {
      const some = byHost.get(host) ?? new Set();
      byHost.set(host, some.add(job.charAt(0)));
    }
    return [...byHost.values()].map((some) => [...some].sort().join('')).sort();
  };
  const whyOf = async (job: string): Promise<Why | null> => {
    const client = new SchedulerClient(world.network.client('test'));
    const [role] = world.under(keys.roles).map(({ value }) => roleCodec.decode(value));
    return client.why(role?.address ?? '', 'default', job);
  };

  it('whichever comes first, whichever of the two says so, and though schedulers know nothing of each other', async () => {
    await hosts(6);
    for (const id of ['batch-1', 'batch-2', 'batch-3']) await world.scheduler({ id });
    for (let n = 0; n < 12; n++)
      await world.submit(n % 2 === 0 ? noisy(`n${String(n)}`, 4) : latency(`l${String(n)}`, 4));
    await world.until(() => world.running().length === 48, 'all of them');
    for (const kind of kinds()) expect(['l', 'n']).toContain(kind);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('what finds no host waits, why says which class is in the way, and it runs when that is gone', async () => {
    await hosts(2);
    await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('wide', {}, { class: 'noisy', count: 2, distinct: ['id'] }, 100));
    await world.until(() => world.running().length === 2, 'one on each host');
    await world.submit(latency('late'));
    await world.clock.advance(2_000);
    expect((await whyOf('late'))?.summary).toContain(
      'no host fits (2 by interference of 2); nearest h1: class noisy, which it avoids, is there',
    );
    const [first] = world.running();
    if (first === undefined) throw new Error('nothing runs');
    world.hosts.get(first.host)?.end(first.id, 'complete');
    await world.until(() => world.running().some(({ job }) => job === 'late'), 'the one that waited');
    await world.submit(noisy('more', 3));
    await world.until(() => world.running().length === 5, 'the others');
    expect(kinds()).toEqual(['l', 'mw']);
  });

  it('who avoids its own class is alone of it on its host', async () => {
    await hosts(3);
    await world.scheduler({ id: 'batch-1' });
    const alone = { class: 'disk', avoid: [{ class: 'disk' }] };
    for (const name of ['a', 'b']) await world.submit(makeJob(name, {}, { ...alone, count: 2 }, 100));
    await world.until(() => world.running().length === 3, 'one on each host');
    await world.clock.advance(5_000);
    expect(new Set(world.running().map(({ host }) => host)).size).toBe(3);
    expect(world.running()).toHaveLength(3);
  });

  it('a higher precedence takes the place of what it avoids, all of it and nothing else, and starts after it', async () => {
    await hosts(1);
    await world.scheduler({ id: 'batch-1' });
    await world.submit(noisy('n', 2, { precedence: 10 }));
    await world.submit(makeJob('quiet', { precedence: 5 }, {}, 100));
    await world.until(() => world.running().length === 3, 'a host with all kinds');
    await world.submit(latency('l', 1, { precedence: 80 }));
    await world.until(() => world.running().some(({ job }) => job === 'l'), 'the newcomer');
    expect(
      world
        .running()
        .map(({ job }) => job)
        .sort(),
    ).toEqual(['l', 'quiet']);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('nobody of the same precedence gives way', async () => {
    await hosts(1);
    await world.scheduler({ id: 'batch-1' });
    await world.submit(noisy('n'));
    await world.until(() => world.running().length === 1, 'the first');
    await world.submit(latency('l'));
    await world.clock.advance(20_000);
    expect(kinds()).toEqual(['n']);
  });

  it('over racks, as far as a scheduler knows: neither in the rack of what it avoids, nor beside who avoids it so far', async () => {
    for (const [host, rack] of [
      ['h1', 'r1'],
      ['h2', 'r1'],
      ['h3', 'r2'],
      ['h4', 'r2'],
    ] as const)
      await world.host(host, 64_000, { rack });
    await world.scheduler({ id: 'batch-1' });
    const far = { class: 'latency', avoid: [{ class: 'noisy', over: 'rack' }] };
    const rackOf = (host: string): string => (host < 'h3' ? 'r1' : 'r2');
    const racks = (letter: string): Set<string> =>
      new Set(
        world
          .running()
          .filter(({ job }) => job.startsWith(letter))
          .map(({ host }) => rackOf(host)),
      );
    await world.submit(makeJob('l', {}, { ...far, count: 1 }, 100));
    await world.until(() => world.running().length === 1, 'the first');
    await world.submit(noisy('n', 6));
    await world.until(() => world.running().length === 7, 'all that is noisy');
    await world.submit(makeJob('later', {}, { ...far, count: 4 }, 100));
    await world.until(() => world.running().length === 11, 'all');
    expect(racks('l').size).toBe(1);
    expect(racks('n').size).toBe(1);
    expect(racks('n')).not.toEqual(racks('l'));
    await world.submit(
      makeJob('both', {}, { avoid: ['latency', 'noisy'].map((one) => ({ class: one, over: 'rack' })) }, 100),
    );
    await world.clock.advance(2_000);
    const why = await whyOf('both');
    expect(why?.summary).toContain('no host fits (4 by interference of 4)');
    const details = why?.groups[0]?.hosts.map(({ detail }) => detail) ?? [];
    expect(details.some((detail) => /^class \w+, which it avoids, is in rack r\d$/.test(detail))).toBe(true);
  });

  /** Hosts in racks of two. */
  const racked = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) await world.host(`h${String(n)}`, 64_000, { rack: `r${String(n >> 1)}` });
  };
  it('what is near a class goes to its host though another scheduler placed it there, and elsewhere when there is no room', async () => {
    await racked(12);
    for (const id of ['batch-1', 'batch-2', 'batch-3']) await world.scheduler({ id });
    await world.submit(makeJob('cache', {}, { class: 'cache' }, 100));
    await world.until(() => world.hostsOf('cache').length === 1, 'the cache');
    for (let n = 0; n < 6; n++)
      await world.submit(makeJob(`w${String(n)}`, {}, { near: [{ class: 'cache', weight: 100 }] }, 100));
    await world.until(() => world.running().length === 7, 'what is near');
    expect(new Set(world.running().map(({ host }) => host)).size).toBe(1);
    await world.submit(makeJob('large', {}, { near: [{ class: 'cache', weight: 100 }], count: 2 }, 40_000));
    await world.until(() => world.hostsOf('large').length === 2, 'what has no room beside it');
    expect(new Set(world.hostsOf('large')).size).toBe(2);
    expect(world.hostsOf('large')).toContain(world.hostsOf('cache')[0]);
  });

  it('near over racks, near its own class, and near a class that nobody is of', async () => {
    await racked(12);
    await world.scheduler({ id: 'batch-1' });
    const rackOf = (host: string): number => Number(host.slice(1)) >> 1;
    await world.submit(makeJob('cache', {}, { class: 'cache' }, 100));
    await world.until(() => world.hostsOf('cache').length === 1, 'the cache');
    const far = { avoid: [{ class: 'cache' }], near: [{ class: 'cache', over: 'rack', weight: 100 }] };
    await world.submit(makeJob('beside', {}, far, 100));
    const own = { class: 'own', near: [{ class: 'own', over: 'rack', weight: 100 }], distinct: ['id'] };
    await world.submit(makeJob('own', {}, { ...own, count: 2 }, 100));
    await world.submit(makeJob('lonely', {}, { near: [{ class: 'nobody', weight: 100 }] }, 100));
    await world.until(() => world.running().length === 5, 'all');
    const [cache = ''] = world.hostsOf('cache');
    const [beside = ''] = world.hostsOf('beside');
    expect([rackOf(beside), beside]).toEqual([rackOf(cache), expect.not.stringMatching(`^${cache}$`)]);
    expect(new Set(world.hostsOf('own').map(rackOf)).size).toBe(1);
    expect(world.hostsOf('lonely')).toHaveLength(1);
  });

  it('a gang is placed whole beside nobody that it avoids', async () => {
    await hosts(4);
    await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('n', { precedence: 10 }, { class: 'noisy', count: 2, distinct: ['id'] }, 100));
    await world.until(() => world.running().length === 2, 'two hosts');
    await world.submit(
      makeJob('l', { precedence: 80 }, { ...LATENCY, gang: true, count: 2, distinct: ['id'] }, 100),
    );
    await world.until(() => world.running().length === 4, 'the gang');
    expect(kinds()).toEqual(['l', 'l', 'n', 'n']);
  });
});
