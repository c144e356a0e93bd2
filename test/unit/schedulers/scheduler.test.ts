import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Attempt, AttemptReply, CellStore, Follower, Following } from '../../../src/ports/cell-store.ts';
import { StoreError } from '../../../src/ports/cell-store.ts';
import { SchedulerClient } from '../../../src/clients/scheduler-client.ts';
import { roleCodec } from '../../../src/wire/records/records.ts';
import { AVOID_MS } from '../../../schedulers/hosts/starter.ts';
import { withCalls } from '../../support/changed-store.ts';
import { CellWorld, keys, makeJob } from './cell-world.ts';

const FAILS_ONCE = { attempts: 1, delayMs: 1_000, delayMaxMs: 10_000, onHostLost: false };

describe('schedulers on a cell in memory', () => {
  let world: CellWorld;
  beforeEach(() => (world = new CellWorld()));
  afterEach(() => world.close());

  /** No two desired=run allocations of one slot, ledgers true, no allocation started twice. */
  const lawsHold = (): void => {
    const slots = world
      .allocations()
      .filter((allocation) => allocation.desired === 'run')
      .map(({ namespace, job, group, index }) => `${namespace}/${job}/${group}/${String(index)}`);
    expect(new Set(slots).size).toBe(slots.length);
    expect(world.ledgersAreTrue()).toBe(true);
    for (const host of world.hosts.values()) {
      const ids = host.starts.map((start) => start.allocation.id);
      expect(new Set(ids).size).toBe(ids.length);
    }
  };

  it('S4.26 two schedulers of one kind never schedule one job twice', async () => {
    for (const id of ['h1', 'h2', 'h3']) await world.host(id);
    await world.scheduler({ id: 'batch-1' });
    await world.scheduler({ id: 'batch-2' });
    for (let i = 0; i < 10; i++) await world.submit(makeJob(`job-${String(i)}`));
    await world.until(() => world.running().length === 10, 'ten tasks');
    await world.clock.advance(30_000);
    expect(world.running()).toHaveLength(10);
    const by = new Set(world.allocations().map((allocation) => allocation.scheduler));
    expect([...by].sort()).toEqual(['batch-1', 'batch-2']);
    lawsHold();
  });

  it('I12 I22 S3.2 a failed batch task is tried again, elsewhere, and only as often as allowed', async () => {
    const [h1, h2] = [await world.host('h1'), await world.host('h2')];
    h1.behaviour = () => 'fail';
    h2.behaviour = () => 'fail';
    await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('flaky', {}, { reschedule: FAILS_ONCE }));
    await world.until(() => world.owners().length === 0 && world.outcomes().length === 2, 'giving up');
    expect(world.outcomes().map((outcome) => outcome.attempt)).toEqual([1, 2]);
    expect(new Set(world.outcomes().map((outcome) => outcome.host)).size).toBe(2);
    await world.clock.advance(60_000);
    expect(world.outcomes()).toHaveLength(2);
    lawsHold();
  });

  it('outlives a store that refuses its registration, and begins anew', async () => {
    await world.host('h1');
    let refusals = 2;
    // A rejected promise that is no longer awaited must not end the process: vitest fails on one.
    const refusing = (store: CellStore, attempt: Attempt): Promise<AttemptReply> => {
      const registers = attempt.writes.some(({ key }) => key.startsWith(keys.roles));
      if (!registers || refusals-- <= 0) return store.attempt(attempt);
      throw new StoreError('unavailable', 'injected', { retryable: true });
    };
    // As over a wire: the term ends before anything that it follows has come.
    const slow = (store: CellStore, prefix: string, follower: Follower): Following => {
      const following = store.follow(prefix, follower);
      if (refusals <= 0) return following;
      return new Waiting(following);
    };
    await world.scheduler({ id: 'batch-1' }, (store) =>
      withCalls(store, {
        attempt: (attempt) => refusing(store, attempt),
        follow: (prefix, follower) => slow(store, prefix, follower),
      }),
    );
    await world.submit(makeJob('late'));
    await world.until(() => world.running().length === 1, 'its task');
  });

  it('S4.28 on the last place of the cell exactly one of two schedulers wins, and the other holds nothing', async () => {
    await world.host('h1', 1_000);
    // Both have decided before the first of them commits.
    const thinkMs = { job: 20, task: 0 };
    const members = [
      await world.scheduler({ id: 'batch-1', thinkMs }),
      await world.scheduler({ id: 'service-1', kind: 'service', thinkMs }),
    ];
    await world.submit(makeJob('left'));
    await world.submit(makeJob('right', { type: 'service' }));
    await world.until(() => world.running().length === 1, 'one winner');
    await world.until(() => members.some(({ scheduler }) => scheduler.status().pending === 1), 'a loser');
    expect(world.allocations()).toHaveLength(1);
    const conflicts = members.flatMap(({ events }) => events.filter(({ kind }) => kind === 'conflict'));
    expect(conflicts).toHaveLength(1);
    expect(conflicts[0]?.detail).toContain('lost h1: lacks');
    const total = members.map(({ scheduler }) => scheduler.status());
    expect(total.map((status) => status.committed + status.rebased).sort()).toEqual([0, 1]);
    lawsHold();
    // The loser's memory was rolled back: as soon as there is room it takes it.
    world.hosts.get('h1')?.endAll('complete');
    const [first] = world.allocations();
    if (first?.job === 'left') await world.until(() => world.running()[0]?.job === 'right', 'the loser');
    lawsHold();
  });

  it('S4.29 a host that refuses has its claim released, and the job goes elsewhere', async () => {
    const [h1, h2] = [await world.host('h1'), await world.host('h2')];
    const refusing = { refuse: 'port-taken' } as const;
    h1.behaviour = () => refusing;
    const { events, scheduler } = await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('many', {}, { count: 4 }));
    await world.until(() => h2.running.length === 4, 'all on the other host', AVOID_MS / 2);
    expect(h1.running).toHaveLength(0);
    expect(world.allocations().every((allocation) => allocation.host === 'h2')).toBe(true);
    const refused = scheduler.status().startsRefused;
    expect(refused).toBe(h1.orders.length);
    expect(events.filter(({ kind }) => kind === 'refused-host')).toHaveLength(refused);
    lawsHold();
  });

  it('I55 a wall clock that was far ahead and is set back puts off no retry', async () => {
    const host = await world.host('h1');
    host.behaviour = () => ({ refuse: 'port-taken' });
    await world.scheduler({ id: 'batch-1' });
    world.clock.step(3_600_000);
    await world.submit(makeJob('patient', {}, { reschedule: FAILS_ONCE }));
    await world.until(() => host.orders.length >= 2, 'refusals');
    host.behaviour = () => 'fail';
    await world.until(() => world.outcomes().length === 1, 'a failure dated by the clock that is ahead');
    world.clock.step(-3_600_000);
    host.behaviour = () => 'run';
    await world.until(() => host.running.length === 1, 'the retry', AVOID_MS);
    lawsHold();
  });

  it('S4.30 what a scheduler committed and never started, its successor starts', async () => {
    const host = await world.host('h1');
    const first = await world.scheduler({ id: 'batch-1' });
    world.fate = (call, from) => (from === 'batch-1' && call.method === 'PUT' ? 'drop-request' : 'pass');
    await world.submit(makeJob('orphan'));
    await world.until(() => world.allocations().length === 1, 'the commit');
    await world.kill(first);
    expect(host.starts).toHaveLength(0);
    await world.scheduler({ id: 'batch-2' });
    await world.until(() => host.running.length === 1, 'the start by the successor');
    expect(world.allocations()).toHaveLength(1);
    expect(host.starts[0]?.allocation.id).toBe(world.allocations()[0]?.id);
    lawsHold();
  });

  it('S4.30 I5 what a dead scheduler had started is adopted, not started again', async () => {
    const host = await world.host('h1');
    const first = await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('orphan', {}, { count: 3 }));
    await world.until(() => host.running.length === 3, 'the starts');
    await world.kill(first);
    await world.scheduler({ id: 'batch-2' });
    await world.until(
      () => world.owners().length === 1 && world.schedulersAlive().length === 1,
      'the successor',
    );
    host.endAll('complete');
    await world.until(() => world.outcomes().length === 3 && world.owners().length === 0, 'the outcomes');
    expect(host.starts).toHaveLength(3);
    lawsHold();
  });

  it('I5 an unanswered start is read back from the same host and never tried elsewhere', async () => {
    const [h1, h2] = [await world.host('h1'), await world.host('h2')];
    const dropped = new Set<string>();
    world.fate = (call) => {
      if (call.method !== 'PUT' || dropped.has(call.url)) return 'pass';
      dropped.add(call.url);
      return dropped.size % 2 === 0 ? 'drop-request' : 'drop-reply';
    };
    await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('lossy', {}, { count: 6 }));
    await world.until(() => world.running().length === 6, 'six starts');
    await world.clock.advance(10_000);
    expect(dropped.size).toBe(6);
    expect(h1.starts.length + h2.starts.length).toBe(6);
    expect(world.allocations()).toHaveLength(6);
    lawsHold();
  });

  it('S0.44 S3.26 what fits nowhere waits with its reason, and goes where capacity is added', async () => {
    await world.host('h1', 500);
    const { events, scheduler } = await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('big', {}, {}, 2_000));
    await world.until(() => events.some(({ kind }) => kind === 'parked'), 'parking');
    const { decisions } = scheduler.status();
    expect(events.find(({ kind }) => kind === 'parked')?.detail).toContain('nearest h1: lacks 1500m cpu');
    await world.clock.advance(20_000);
    expect(scheduler.status().decisions).toBe(decisions);
    await world.host('h2', 4_000);
    await world.until(() => world.running().length === 1, 'the new host to be used', 2_000);
    lawsHold();
  });

  it('S3.48 a job that fits nowhere does not hold up another', async () => {
    await world.host('h1', 1_000);
    await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('picky', { precedence: 90 }, { count: 100 }, 64_000));
    await world.submit(makeJob('small'));
    await world.until(() => world.running().length === 1, 'the small job');
    expect(world.running()[0]?.job).toBe('small');
  });

  it('S3.47 a job of many tasks leaves a small one its turn', async () => {
    for (const id of ['h1', 'h2']) await world.host(id, 10_000_000);
    const { events } = await world.scheduler({ id: 'batch-1', sliceMax: 20 });
    await world.submit(makeJob('large', {}, { count: 400 }, 1));
    await world.submit(makeJob('small', {}, { count: 10 }, 1));
    await world.until(() => world.running().length === 410, 'all tasks');
    const placed = events.filter(({ kind }) => kind === 'placed').map(({ job }) => job);
    expect(placed.lastIndexOf('small')).toBeLessThan(placed.length / 2);
    lawsHold();
  });

  it('I6 a gang is placed whole or not at all', async () => {
    await world.host('h1', 2_000);
    await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('gang', {}, { count: 4, gang: true }));
    await world.clock.advance(5_000);
    expect(world.allocations()).toHaveLength(0);
    expect(world.ledgersAreTrue()).toBe(true);
    await world.host('h2', 2_000);
    await world.until(() => world.running().length === 4, 'the gang');
    const revisions = new Set(world.under(keys.allocations).map((entry) => entry.createRevision));
    expect(revisions.size).toBe(1);
    lawsHold();
  });

  it('I24 a job without a place in time fails as unplaceable, each slot with the reason', async () => {
    await world.host('h1', 1_000);
    await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('late', {}, { count: 3, waitMaxMs: 10_000 }));
    await world.until(() => world.outcomes().length === 2, 'the failures');
    expect(world.outcomes().every(({ reason }) => reason.startsWith('unplaceable: no host fits'))).toBe(true);
    expect(world.running()).toHaveLength(1);
    world.hosts.get('h1')?.endAll('complete');
    await world.until(() => world.owners().length === 0, 'the end of the job');
    expect(
      world
        .outcomes()
        .map(({ state }) => state)
        .sort(),
    ).toEqual(['complete', 'failed', 'failed']);
    lawsHold();
  });

  it('S1.12 S1.39 a stopped job ends though its host is lost: at once on an operator’s word, or after the orphan time', async () => {
    const hosts = [await world.host('h1', 1_000), await world.host('h2', 1_000)];
    await world.scheduler({ id: 'service-1', kind: 'service', orphanMs: 50_000 });
    const jobs = [1, 2].map((n) => makeJob(`web-${String(n)}`, { type: 'service' }, { count: 1 }));
    for (const job of jobs) await world.submit(job);
    await world.until(() => hosts.every((host) => host.running.length === 1), 'the services');
    for (const host of hosts) await host.close();
    await world.lose('h1', { confirmed: 'lost' });
    await world.lose('h2');
    for (const job of jobs) await world.submit(job, 1, 'stop');
    await world.until(() => world.allocations().length === 1, 'the end of the first');
    expect(world.allocations()[0]?.host).toBe('h2');
    await world.clock.advance(30_000);
    expect(world.allocations()).toHaveLength(1);
    await world.until(() => world.allocations().length === 0, 'the end of the second');
    await world.until(() => world.owners().length === 0, 'the end of the jobs');
    expect(world.outcomes()).toMatchObject([
      { state: 'killed', cause: 'stopped by user', exit: { lost: 'host-lost' } },
      { state: 'killed', cause: 'stopped by user', exit: { lost: 'host-lost' } },
    ]);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('S1.21 what ran on a removed host is given up and its slot filled, also without onHostLost', async () => {
    const host = await world.host('h1');
    await world.scheduler({ id: 'service-1', kind: 'service' });
    const reschedule = { attempts: null, delayMs: 0, delayMaxMs: 0, onHostLost: false };
    await world.submit(makeJob('web', { type: 'service' }, { count: 1, reschedule }));
    await world.until(() => host.running.length === 1, 'the service');
    await host.close();
    const other = await world.host('h2');
    await world.lose('h1', { confirmed: 'lost' });
    await world.clock.advance(60_000);
    expect(world.allocations().map((one) => one.host)).toEqual(['h1']);
    await world.lose('h1', { confirmed: 'removed' });
    await world.until(() => other.running.length === 1, 'the replacement');
    expect(world.allocations().map((one) => one.host)).toEqual(['h2']);
    expect(world.outcomes()).toMatchObject([{ state: 'lost', exit: { lost: 'host-lost' } }]);
    expect(world.ledgersAreTrue()).toBe(true);
  });

  it('S0.43 S1.37 S0.22 a stopped job is stopped, released and not started again, also by another scheduler', async () => {
    const host = await world.host('h1');
    const first = await world.scheduler({ id: 'service-1', kind: 'service' });
    const job = makeJob('web', { type: 'service' }, { count: 2 });
    await world.submit(job);
    await world.until(() => host.running.length === 2, 'the service');
    await world.submit(job, 1, 'stop');
    await world.until(() => world.allocations().length === 0 && world.owners().length === 0, 'the end');
    expect(world.outcomes().every(({ cause }) => cause === 'stopped by user')).toBe(true);
    await world.kill(first);
    await world.scheduler({ id: 'service-2', kind: 'service' });
    await world.clock.advance(60_000);
    expect(host.starts).toHaveLength(2);
    lawsHold();
  });

  it('S1.7 S1.1 S1.18 nothing is released, and no slot filled again, before the host has confirmed', async () => {
    const host = await world.host('h1');
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(makeJob('web', { type: 'service' }, { count: 2 }), 1);
    await world.until(() => host.running.length === 2, 'the service');
    host.holdStops = true;
    await world.submit(makeJob('web', { type: 'service' }, { count: 1 }), 2);
    await world.until(() => host.stops.length === 1, 'the stop');
    await world.submit(makeJob('web', { type: 'service' }, { count: 2 }), 3);
    await world.clock.advance(20_000);
    expect(world.allocations()).toHaveLength(2);
    expect(host.starts).toHaveLength(2);
    expect(host.stops.length).toBeLessThanOrEqual(3);
    const [stopped] = host.stops;
    host.end(stopped?.id ?? '', 'killed');
    await world.until(() => host.starts.length === 3, 'the slot to be used again');
    expect(world.outcomes()).toEqual([]);
    lawsHold();
  });

  it('S3.24 a new version goes in one at a time, and the next only when the last one runs', async () => {
    const hosts = [await world.host('h1'), await world.host('h2'), await world.host('h3')];
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(makeJob('web', { type: 'service' }, { count: 3 }), 1);
    await world.until(() => world.running().length === 3, 'version 1');
    await world.submit(makeJob('web', { type: 'service' }, { count: 3 }, 500), 2);
    let least = 3;
    world.fate = () => {
      least = Math.min(least, world.running().length);
      return 'pass';
    };
    const isNew = ({ jobVersion }: { jobVersion: number }): boolean => jobVersion === 2;
    await world.until(() => world.running().filter(isNew).length === 3, 'version 2');
    expect(least).toBe(2);
    for (const host of hosts) host.behaviour = () => ({ refuse: 'disk-full' });
    await world.submit(makeJob('web', { type: 'service' }, { count: 3 }, 600), 3);
    await world.clock.advance(30_000);
    expect(world.running().filter(({ jobVersion }) => jobVersion === 2)).toHaveLength(2);
    lawsHold();
  });

  it('S3.24 a version that does not stay up replaces one allocation and no more, and why says so', async () => {
    for (const id of ['h1', 'h2', 'h3']) await world.host(id);
    await world.scheduler({ id: 'service-1', kind: 'service' });
    await world.submit(makeJob('web', { type: 'service' }, { count: 3 }), 1);
    await world.until(() => world.running().length === 3, 'version 1');
    await world.submit(makeJob('web', { type: 'service' }, { count: 3, minHealthyMs: 3_000 }, 500), 2);
    const fresh = () => world.running().filter(({ jobVersion }) => jobVersion === 2);
    await world.until(() => fresh().length === 1, 'the first of version 2');
    for (let restarts = 1; restarts <= 20; restarts++) {
      const [report] = fresh();
      if (report === undefined) throw new Error('it is gone');
      world.hosts.get(report.host)?.change(report.id, { restarts });
      await world.clock.advance(2_000);
    }
    expect(fresh()).toHaveLength(1);
    const [address = ''] = world.under(keys.roles).map((entry) => roleCodec.decode(entry.value).address);
    const why = await new SchedulerClient(world.network.client('test')).why(address, 'default', 'web');
    expect(why?.summary).toMatch(
      /^web: updating: 2 still to be replaced by version 2; waits: web\[\d\] was restarted 20 times/,
    );
    // What runs long enough in the end lets it go on.
    await world.until(() => fresh().length === 3, 'version 2');
    lawsHold();
  });

  it('S3.45 S0.1 a lost host keeps its allocations, unless the job asked to be moved', async () => {
    for (const id of ['h1', 'h2']) await world.host(id);
    await world.scheduler({ id: 'service-1', kind: 'service' });
    const moves = { attempts: null, delayMs: 0, delayMaxMs: 0, onHostLost: true };
    const only = [{ attribute: 'id', operator: '==', value: 'h1', text: 'host.id == h1' }] as const;
    await world.submit(makeJob('stays', { type: 'service' }, { constraints: only }));
    await world.submit(makeJob('moves', { type: 'service' }, { reschedule: moves }));
    await world.until(() => world.running().length === 2, 'both');
    const before = world.running().find(({ job }) => job === 'moves')?.host ?? '';
    const lost = world.hosts.get(before);
    world.fate = (call) => (call.url.startsWith(lost?.address ?? '-') ? 'refuse' : 'pass');
    await world.lose(before);
    const placesOf = (job: string) => world.allocations().filter((allocation) => allocation.job === job);
    await world.until(() => placesOf('moves').length === 2, 'the replacement');
    expect(
      placesOf('moves')
        .map(({ desired }) => desired)
        .sort(),
    ).toEqual(['run', 'stop']);
    expect(placesOf('stays')).toMatchObject([{ host: 'h1', desired: 'run' }]);
    lawsHold();
  });

  it('S4.30 a session that is lost drops all and starts over, and loses nothing', async () => {
    const host = await world.host('h1', 64_000);
    const { store, scheduler } = await world.scheduler({ id: 'batch-1' });
    await world.submit(makeJob('many', {}, { count: 20 }, 10));
    await world.until(() => host.running.length === 20, 'the job');
    store.cutOff();
    await world.clock.advance(30_000);
    expect(scheduler.status().jobsOwned).toBe(0);
    host.endAll('complete');
    store.reconnect();
    await world.until(() => world.outcomes().length === 20 && world.owners().length === 0, 'the outcomes');
    expect(host.starts).toHaveLength(20);
    lawsHold();
  });

  it('I17 a scheduler that lost the owner key commits nothing for the job any more', async () => {
    const host = await world.host('h1', 64_000);
    let hold: (() => void) | null = null;
    const waiting = (store: CellStore): CellStore => ({
      ...bound(store),
      attempt: async (attempt) => {
        const isCommit = attempt.writes.some(({ key }) => key.startsWith(keys.allocations));
        if (isCommit && hold === null) await new Promise<void>((resolve) => (hold = resolve));
        return store.attempt(attempt);
      },
    });
    const { events } = await world.scheduler({ id: 'batch-1' }, waiting);
    await world.submit(makeJob('taken'));
    await world.until(() => hold !== null, 'the commit on its way');
    const key = keys.owner('default', 'taken');
    await world.store.attempt({ compares: [], writes: [{ kind: 'delete', key }], readBack: [] });
    await world.put(key, JSON.stringify({ v: 1, scheduler: 'batch-9', kind: 'batch', sinceMs: 1 }));
    (hold as unknown as () => void)();
    await world.clock.advance(10_000);
    expect(world.allocations()).toEqual([]);
    expect(host.orders).toEqual([]);
    expect(events.filter(({ kind }) => kind === 'placed')).toEqual([]);
  });

  it('a system job runs once on each matching host, also on those that join later', async () => {
    const linux = { os: 'linux' };
    await world.host('h1', 4_000, linux);
    await world.host('h2', 4_000, { os: 'other' });
    await world.scheduler({ id: 'system-1', kind: 'system' });
    const only = [{ attribute: 'os', operator: '==', value: 'linux', text: 'host.os == linux' }] as const;
    await world.submit(makeJob('agent', { type: 'system' }, { constraints: only }));
    await world.until(() => world.running().length === 1, 'the first');
    await world.host('h3', 4_000, linux);
    await world.until(() => world.running().length === 2, 'the second');
    await world.clock.advance(10_000);
    expect(
      world
        .running()
        .map(({ host }) => host)
        .sort(),
    ).toEqual(['h1', 'h3']);
    lawsHold();
  });
});

function bound(store: CellStore): CellStore {
  return {
    limits: store.limits,
    read: (names) => store.read(names),
    list: (prefix) => store.list(prefix),
    listMany: (prefixes) => store.listMany(prefixes),
    attempt: (attempt) => store.attempt(attempt),
    follow: (prefix, follower) => store.follow(prefix, follower),
    openSession: (options) => store.openSession(options),
    history: (prefix, from) => store.history(prefix, from),
    oldestRevision: () => store.oldestRevision(),
    close: () => store.close(),
  };
}

/** A following whose first snapshot never comes. */
class Waiting implements Following {
  readonly ready: Promise<void>;
  readonly #following: Following;
  #reject: (cause: Error) => void = () => undefined;

  constructor(following: Following) {
    this.#following = following;
    this.ready = new Promise((_resolve, reject) => (this.#reject = reject));
    // As every store does: `ready` rejects on close, and need not be awaited.
    this.ready.catch(() => undefined);
  }

  close(): void {
    this.#following.close();
    this.#reject(new StoreError('closed', 'the following was closed', { retryable: false }));
  }
}
