import { describe, expect, it } from 'vitest';
import { EtcdUpkeep } from '../../src/adapters/etcd/upkeep.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import { StoreKeeper } from '../../monitor/store/store.ts';
import { CellCopy } from '../../monitor/view/view.ts';
import { silentLog, silentMetrics } from '../../src/adapters/telemetry/silent.ts';
import { committerWorld, own, planOf, testAllocation, testHost } from '../support/commit-world.ts';
import { useEtcd } from '../support/etcd.ts';
import { ManualClock } from '../support/manual-clock.ts';

const QUOTA_BYTES = 2_000_000;
const etcd = useEtcd({ flags: ['--quota-backend-bytes', String(QUOTA_BYTES)] });

async function put(store: CellStore, key: string, value: string): Promise<void> {
  const reply = await store.attempt({ compares: [], writes: [{ kind: 'put', key, value }], readBack: [] });
  if (reply.outcome !== 'applied') throw new Error(`not written: ${reply.outcome}`);
}

/** Overwrites one key until there is no space left: nearly all of it is past. @returns how often */
async function fill(store: CellStore): Promise<number> {
  const value = 'x'.repeat(20_000);
  for (let n = 0; n < 1_000; n++) {
    try {
      await put(store, '/full/key', value);
    } catch (error) {
      expect(error).toMatchObject({ code: 'no-space', retryable: true });
      return n;
    }
  }
  throw new Error('the store never was full');
}

describe('a store with a small quota', () => {
  it('F9 I57 commits stop and say why while it is full, and go on when a monitor has made room', async () => {
    const keys = cellKeys(etcd.cellName());
    const store = etcd.store();
    const upkeep = new EtcdUpkeep({ endpoints: [etcd.url] });
    const copy = new CellCopy(store, keys, silentLog, {
      onChange: () => undefined,
      onGap: () => undefined,
      onReplaced: () => undefined,
    });
    const clock = new ManualClock();
    const keeper = new StoreKeeper({
      ...{ self: 'm1', upkeep, copy, clock, log: silentLog, metrics: silentMetrics },
      options: { historyKeptMs: 60_000, quotaBytes: QUOTA_BYTES },
    });
    await copy.ready;
    const hosts = new Map([['h1', testHost('h1')]]);
    const world = committerWorld({ store, keys, hosts, clock: systemClock, random: seededRandom(1) });
    await own(store, keys, world, 'web');
    expect(await fill(store)).toBeGreaterThan(20);

    const committed = world.committer.commit(planOf('p', { places: [testAllocation('a', 'h1')] }));
    while (world.committer.storeTrouble === null) await new Promise((resolve) => setImmediate(resolve));
    expect(world.committer.storeTrouble).toContain('no-space');
    // Reads go on.
    expect((await store.read(['/full/key'])).entries.size).toBe(1);
    const before = await upkeep.measure();
    expect(before).toMatchObject({ isFull: true });

    await keeper.check();
    expect(keeper.size).toMatchObject({ isFull: false });
    expect(keeper.size?.databaseBytes).toBeLessThan(before.databaseBytes / 2);
    expect((await committed).get('a')).toMatchObject({ kind: 'committed' });
    expect(world.committer.storeTrouble).toBeNull();
    await put(store, '/full/key', 'y');
    copy.close();
    await keeper.close();
  });

  it('forgets what is older than the history to be kept, and nothing younger', async () => {
    const keys = cellKeys(etcd.cellName());
    const store = etcd.store();
    const upkeep = new EtcdUpkeep({ endpoints: [etcd.url] });
    const copy = new CellCopy(store, keys, silentLog, {
      onChange: () => undefined,
      onGap: () => undefined,
      onReplaced: () => undefined,
    });
    await copy.ready;
    const clock = new ManualClock();
    const keeper = new StoreKeeper({
      ...{ self: 'm1', upkeep, copy, clock, log: silentLog, metrics: silentMetrics },
      options: { historyKeptMs: 60_000, quotaBytes: QUOTA_BYTES },
    });
    const key = `${keys.root}note`;
    const versions: number[] = [];
    // Looks by hand at 0, 20, 40, ... seconds, with a write before each.
    for (let at = 0; at <= 100; at += 20) {
      await put(store, key, String(at));
      versions.push((await store.read([key])).revision);
      await keeper.check();
      await clock.advance(20_000);
    }
    await expect(store.list(keys.root, versions[0])).rejects.toMatchObject({ code: 'compacted' });
    const kept = await store.list(keys.root, versions[3]);
    expect(kept.entries.get(key)?.value).toBe('60');
    // Twice is once.
    await expect(upkeep.compact(versions[0] ?? 0)).rejects.toBeInstanceOf(StoreError);
    await keeper.check();
    copy.close();
    await keeper.close();
  });
});
