import { describe, expect, it } from 'vitest';
import { Agenda } from '../../../../sim/agenda/agenda.ts';
import { drive } from '../../../../sim/agenda/drive.ts';
import { Life } from '../../../../sim/agenda/life.ts';
import { VirtualClock } from '../../../../sim/agenda/virtual-clock.ts';
import type { Endpoint } from '../../../../sim/network/connection.ts';
import { NetworkFaultProfile } from '../../../../sim/network/fault-profile.ts';
import { StoreServer } from '../../../../sim/store/server.ts';
import { SimFollowing } from '../../../../sim/store/following.ts';
import { SimStore } from '../../../../sim/store/store.ts';
import { StoreFaultProfile } from '../../../../sim/store/fault-profile.ts';
import { snapshotOf } from '../../../../src/adapters/memory/following.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import type { Session } from '../../../../src/ports/cell-store.ts';
import { StoreError } from '../../../../src/ports/cell-store.ts';
import { cellStoreContract, Recorder } from '../../../contract/cell-store.ts';
import { restoredStoreContract } from '../../../contract/restored-store.ts';

const SEED = 7;

class StoreWorld {
  readonly agenda = new Agenda();
  readonly network = new NetworkFaultProfile(seededRandom(SEED).split('network'));
  readonly server = new StoreServer({
    agenda: this.agenda,
    faults: new StoreFaultProfile(seededRandom(SEED).split('store')),
  });
  #over = false;

  client(
    name: string,
    onWrongServer: (error: StoreError) => void = () => undefined,
  ): { readonly store: SimStore; readonly life: Life; readonly speaker: Endpoint } {
    const life = new Life(name);
    const identity = { cell: 'sim', role: 'scheduler', id: name } as const;
    const speaker = { life, identity, clock: new VirtualClock(this.agenda, life), log: silentLog };
    const parts = { server: this.server, network: this.network, speaker, onWrongServer };
    return { life, speaker, store: new SimStore(parts) };
  }

  /** Lets virtual time pass as fast as it can, until `stop`; keeps an entry ahead, so that time never stands still. */
  run(): Promise<void> {
    const tick = (): void => void this.agenda.after(1, this.server.life, 'tick', tick);
    tick();
    return drive(this.agenda, { untilMs: Infinity, done: () => this.#over });
  }

  stop(): void {
    this.#over = true;
  }
}

cellStoreContract('simulated', async () => {
  const world = new StoreWorld();
  const [one, two] = [world.client('one'), world.client('two')];
  const driven = world.run();
  return {
    ...{ store: one.store, other: two.store, prefix: '/moorage/c1/' },
    compact: async (revision) => world.server.cell.compact(revision + 1),
    close: async () => {
      await one.store.close();
      await two.store.close();
      world.stop();
      await driven;
    },
  };
});

restoredStoreContract('simulated', async () => {
  const world = new StoreWorld();
  const stores: SimStore[] = [];
  const driven = world.run();
  let saved = world.server.cell.save();
  return {
    prefix: '/moorage/c1/',
    open: (onWrongServer) => {
      const { store } = world.client(`client-${String(stores.length)}`, onWrongServer);
      stores.push(store);
      return store;
    },
    save: async () => void (saved = world.server.cell.save()),
    goBack: async () => void world.server.restore(saved, { isSame: true }),
    close: async () => {
      for (const store of stores) await store.close();
      world.stop();
      await driven;
    },
  };
});

const put = (key: string, value = 'x') => ({
  ...{ compares: [], readBack: [], writes: [{ kind: 'put', key, value } as const] },
});

describe('the weaknesses of the simulated store', () => {
  it('F7 loses answers of what was done, and what is asked while it stands still is done later', async () => {
    const world = new StoreWorld();
    const { store } = world.client('one');
    const calm = world.server.faults.override({ replyLost: 1 });
    const lost = store.attempt(put('/a/lost'));
    await drive(world.agenda, { untilMs: 5_000 });
    expect((await lost).outcome).toBe('unknown');
    expect(world.server.cell.get('/a/lost')?.value).toBe('x');
    calm();
    world.server.life.pause();
    const held = store.attempt(put('/a/held'));
    await drive(world.agenda, { untilMs: 20_000 });
    expect((await held).outcome).toBe('unknown');
    expect(world.server.cell.get('/a/held')).toBeUndefined();
    world.agenda.resume(world.server.life);
    await drive(world.agenda, { untilMs: 20_100 });
    expect(world.server.cell.get('/a/held')?.value).toBe('x');
  });

  it('F8 gives a follower a new snapshot after its watch broke, with what it missed', async () => {
    const world = new StoreWorld();
    const { store } = world.client('one');
    const seen = new Recorder();
    store.follow('/a/', seen);
    await drive(world.agenda, { untilMs: 100 });
    world.server.breakWatches();
    world.server.apply('other', put('/a/missed'));
    world.server.cell.compact(world.server.cell.revision);
    await drive(world.agenda, { untilMs: 2_000 });
    expect(seen.state()).toEqual({ missed: 'x' });
    expect(seen.snapshots).toHaveLength(2);
  });

  it('is restored as etcd does it: keys have their old revisions, leases live once more, another cluster answers', async () => {
    const world = new StoreWorld();
    const [before, after] = [world.client('before'), world.client('after')];
    const lease = world.server.grantLease('before', 3_000);
    const session = { id: lease } as Session;
    world.server.apply('before', put('/a/kept'));
    world.server.apply('before', {
      ...put(''),
      writes: [{ kind: 'put', key: '/a/leased', value: 'x', session }],
    });
    const first = before.store.list('/a/');
    await drive(world.agenda, { untilMs: 100 });
    expect((await first).entries.size).toBe(2);
    const saved = world.server.cell.save();
    world.server.apply('before', put('/a/kept', 'newer'));
    world.server.apply('before', put('/a/later'));
    world.server.endLease('before', lease);
    world.server.restore(saved, { isSame: false });

    expect(world.server.cell.revision).toBe(saved.revision);
    expect(world.server.cell.get('/a/kept')).toMatchObject({ value: 'x', modRevision: 2, createRevision: 2 });
    expect(world.server.cell.list('/a/').map(({ key }) => key)).toEqual(['/a/kept', '/a/leased']);
    const strange = before.store.attempt(put('/a/strange')).catch((error: unknown) => error);
    const heard = after.store.read(['/a/kept']);
    await drive(world.agenda, { untilMs: 200 });
    expect(await strange).toMatchObject({ code: 'wrong-server', retryable: false });
    expect((await heard).entries.size).toBe(1);
    // What was asked of the other cluster was done all the same.
    expect(world.server.cell.get('/a/strange')?.modRevision).toBe(saved.revision + 1);
    const gone = (): boolean => world.server.cell.get('/a/leased') === undefined;
    await drive(world.agenda, { untilMs: 10_000, done: gone });
    expect(gone()).toBe(true);
    expect(world.server.grantLease('after', 3_000)).not.toBe(lease);
  });

  it('is restored past all that was seen: the same cluster, and a past that is compacted', async () => {
    const world = new StoreWorld();
    const { store } = world.client('one');
    world.server.apply('one', put('/a/kept'));
    const seen = new Recorder();
    store.follow('/a/', seen);
    await drive(world.agenda, { untilMs: 100 });
    const saved = world.server.cell.save();
    world.server.apply('one', put('/a/later'));
    world.server.restore(saved, { bumpedTo: 1_000, isSame: true });
    expect(() => world.server.cell.past('/a/', 999)).toThrow(StoreError);
    await drive(world.agenda, { untilMs: 2_000 });
    expect(seen.state()).toEqual({ kept: 'x' });
    const reply = store.attempt(put('/a/next'));
    await drive(world.agenda, { untilMs: 2_100 });
    expect(await reply).toEqual({ outcome: 'applied', revision: 1_001 });
  });

  it('lets a watch from a revision that is not there yet wait without a word, until its client misses the canary', async () => {
    const world = new StoreWorld();
    const paused = world.client('paused');
    for (let n = 0; n < 20; n++) world.server.apply('other', put('/a/old', String(n)));
    const saved = world.server.cell.save();
    for (let n = 0; n < 20; n++) world.server.apply('other', put('/a/new', String(n)));
    const seen = new Recorder();
    const follow = new SimFollowing(
      {
        ...{ server: world.server, network: world.network, speaker: paused.speaker, ended: () => undefined },
        // Its answer lay there while it was paused.
        list: async (prefix) => {
          const snapshot = snapshotOf(world.server.cell, prefix);
          if (seen.snapshots.length === 0) world.server.restore(saved, { isSame: true });
          return snapshot;
        },
      },
      '/a/',
      seen,
    );
    await drive(world.agenda, { untilMs: 1_000 });
    world.server.apply('other', put('/a/unheard'));
    await drive(world.agenda, { untilMs: 2_000 });
    expect(seen.state()).toMatchObject({ new: '19' });
    expect(seen.state()).not.toHaveProperty('unheard');
    await drive(world.agenda, { untilMs: 6_000 });
    expect(seen.state()).toEqual({ old: '19', unheard: 'x' });
    follow.close();
  });

  it('ends the session of whoever dies after its time, and not before; and of whoever is cut off itself first', async () => {
    const world = new StoreWorld();
    const [dead, cut] = [world.client('dead'), world.client('cut')];
    const sessions = Promise.all([
      dead.store.openSession({ ttlMs: 3_000 }),
      cut.store.openSession({ ttlMs: 3_000 }),
    ]);
    await drive(world.agenda, { untilMs: 100 });
    const [ofDead, ofCut] = await sessions;
    for (const [{ store }, session] of [[dead, ofDead] as const, [cut, ofCut] as const])
      void store.attempt({
        ...{ compares: [], readBack: [] },
        writes: [{ kind: 'put', key: `/alive/${session.id}`, value: 'x', session }],
      });
    await drive(world.agenda, { untilMs: 1_000 });
    dead.life.end();
    world.network.cut('cut', 'store');
    let lostAtMs = 0;
    ofCut.lost.addEventListener('abort', () => (lostAtMs = world.agenda.nowMs));
    await drive(world.agenda, { untilMs: 2_900 });
    expect(world.server.cell.list('/alive/')).toHaveLength(2);
    const gone = (): boolean => world.server.cell.list('/alive/').length === 0;
    await drive(world.agenda, { untilMs: 10_000, done: gone });
    expect(gone()).toBe(true);
    expect(lostAtMs).toBeGreaterThan(0);
    expect(lostAtMs).toBeLessThan(world.agenda.nowMs);
  });

  it('F9 refuses what adds something while it is full, and takes deletions', async () => {
    const world = new StoreWorld();
    const { store } = world.client('one');
    world.server.apply('one', put('/a/old'));
    world.server.faults.override({ full: true });
    const refused = store.attempt(put('/a/new')).catch((error: unknown) => error);
    const taken = store.attempt({ ...put(''), writes: [{ kind: 'delete', key: '/a/old' }] });
    await drive(world.agenda, { untilMs: 100 });
    expect(await refused).toMatchObject({ code: 'no-space' });
    expect((await taken).outcome).toBe('applied');
  });
});
