import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { etcdClient } from '../../src/adapters/etcd/client/client.ts';
import type { EtcdProcess } from '../../src/adapters/etcd/server/server.ts';
import { startEtcd } from '../../src/adapters/etcd/server/server.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import { systemClock, systemRandom } from '../../src/adapters/system/system.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { Revision } from '../../src/ports/cell-store.ts';
import { Recorder } from '../contract/cell-store.ts';
import { audit, committerWorld, own, planOf, testAllocation, testHost } from '../support/commit-world.ts';
import { useEtcd } from '../support/etcd.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const etcd = useEtcd();
const CUTS = 20;

describe('what etcd and its client hide', () => {
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function proxied(
    options: Parameters<typeof etcd.store>[0] = {},
  ): Promise<{ proxy: TcpProxy; store: EtcdCellStore; prefix: string }> {
    const proxy = await TcpProxy.to(etcd.url);
    closers.push(() => proxy.close());
    const store = etcd.store({ endpoints: [proxy.url], ...options });
    closers.push(() => store.close());
    return { proxy, store, prefix: `/moorage/${etcd.cellName()}/` };
  }

  const put = (key: string, value: string) => ({
    compares: [],
    writes: [{ kind: 'put', key, value } as const],
    readBack: [],
  });

  it('trap 1: a commit whose reply is cut is unknown, is applied once, and is not sent again', async () => {
    const { proxy, store, prefix } = await proxied();
    const direct = etcd.store();
    const seen = new Recorder();
    const following = direct.follow(prefix, seen);
    await following.ready;
    await store.read([]);
    proxy.links[0]!.dropReplies = true;
    const key = `${prefix}a`;
    const reply = store.attempt({ ...put(key, 'x'), compares: [{ key, target: 'modRevision', equals: 0 }] });
    await seen.until((state) => 'a' in state);
    proxy.cutAll();
    expect((await reply).outcome).toBe('unknown');
    // Whatever was sent once more would have been applied before this.
    await store.attempt(put(`${prefix}b`, 'y'));
    await direct.attempt(put(`${prefix}c`, 'z'));
    await seen.until((state) => 'c' in state);
    expect(
      seen.revisions.filter(({ changes }) => changes.some((c) => c.kind === 'put' && c.entry.key === key)),
    ).toHaveLength(1);
    following.close();
  });

  for (const side of ['replies', 'requests'] as const) {
    it(`I5 ${String(CUTS)} of ${String(CUTS)} commits with cut ${side} resolve right`, async () => {
      const { proxy, store } = await proxied();
      const keys = cellKeys(etcd.cellName());
      const hosts = new Map([
        [
          'h1',
          testHost('h1', { capacity: { cpuMilli: 64_000, memoryMib: 99_000, diskMib: 0, scalars: {} } }),
        ],
      ]);
      const world = committerWorld({ store, keys, hosts, clock: systemClock, random: systemRandom });
      const direct = etcd.store();
      await own(direct, keys, world, 'web');
      const seen = new Recorder();
      const following = direct.follow(keys.allocations, seen);
      await following.ready;
      await store.read([]);
      const created: number[] = [];
      for (let cut = 0; cut < CUTS; cut++) {
        // A link that works: the cut below ended the one before.
        await store.read([]).catch(() => undefined);
        while ((await store.read([]).catch(() => null)) === null);
        const link = proxy.links.at(-1)!;
        const id = `a${String(cut)}`;
        const dropped = new Promise<void>((resolve) => (link.onDropped = resolve));
        if (side === 'replies') link.dropReplies = true;
        else link.dropRequests = true;
        const outcome = world.committer.commit(
          planOf(`p${String(cut)}`, { places: [testAllocation(id, 'h1')] }),
        );
        // Cut when etcd has applied it, or when the request is surely gone.
        if (side === 'replies') await seen.until((state) => id in state);
        else await dropped;
        link.cut();
        const end = (await outcome).get(id);
        expect(end?.kind).toBe('committed');
        if (end?.kind === 'committed') created.push(end.revision);
      }
      following.close();
      expect(world.committer.stats).toMatchObject({ committed: CUTS, unknownResolved: CUTS, conflicted: 0 });
      const history: Revision[] = [];
      for await (const revision of direct.history(keys.root, created[0]!)) history.push(revision);
      const found = audit(history, keys, hosts);
      expect(found.faults).toEqual([]);
      expect([...found.created.values()]).toEqual(created);
    });
  }

  it('trap 2: a call to a silent server ends by its deadline; a write is unknown then', async () => {
    const silent = async (): Promise<EtcdCellStore> => {
      const { proxy, store } = await proxied({ callTimeoutMs: 200 });
      while ((await store.read([]).catch(() => null)) === null);
      for (const link of proxy.links) link.dropReplies = true;
      return store;
    };
    await expect((await silent()).read([])).rejects.toMatchObject({ code: 'timeout', retryable: true });
    const reply = await (await silent()).attempt(put(`/moorage/${etcd.cellName()}/a`, 'x'));
    expect(reply.outcome).toBe('unknown');
  });

  it('trap 3: a watch that was away during a compaction comes back with a new list', async () => {
    const { proxy, store, prefix } = await proxied();
    const direct = etcd.store();
    await direct.attempt(put(`${prefix}a`, '1'));
    const seen = new Recorder();
    await store.follow(prefix, seen).ready;
    await proxy.linkCount(2);
    proxy.refusing = true;
    proxy.cutAll();
    for (let n = 2; n < 10; n++) await direct.attempt(put(`${prefix}a`, String(n)));
    const { revision } = await direct.read([]);
    const client = etcdClient({ endpoints: [etcd.url] });
    await client.kv.compact({ revision });
    client.close();
    proxy.refusing = false;
    await seen.until((state) => state['a'] === '9');
    await direct.attempt(put(`${prefix}a`, '10'));
    await seen.until((state) => state['a'] === '10');
    expect(seen.snapshots.length).toBeGreaterThan(1);
  });

  it('trap 3: a watch on a link that is open in one direction only is found by the canary', async () => {
    // The connection's own keepalive would find it too, but later.
    const { proxy, store, prefix } = await proxied({ canaryIntervalMs: 100, keepAliveMs: 600_000 });
    const direct = etcd.store();
    await store.read([]);
    const seen = new Recorder();
    await store.follow(prefix, seen).ready;
    await direct.attempt(put(`${prefix}a`, '1'));
    await seen.until((state) => state['a'] === '1');
    // Calls and watches have a connection each; the second is the watch's.
    expect(proxy.links).toHaveLength(2);
    proxy.links[1]!.dropReplies = true;
    await direct.attempt(put(`${prefix}a`, '2'));
    await seen.until((state) => state['a'] === '2');
    expect(seen.snapshots.length).toBeGreaterThan(1);
  });

  it('trap 5: the holder of a session gives it up before the store does', async () => {
    const { proxy, store, prefix } = await proxied();
    const direct = etcd.store();
    const session = await store.openSession({ ttlMs: 8_000 });
    await store.attempt({
      compares: [],
      writes: [{ kind: 'put', key: `${prefix}mine`, value: 'x', session }],
      readBack: [],
    });
    const seen = new Recorder();
    const following = direct.follow(prefix, seen);
    await following.ready;
    const order: string[] = [];
    const lost = new Promise<void>((resolve) =>
      session.lost.addEventListener('abort', () => {
        order.push('lost');
        resolve();
      }),
    );
    proxy.refusing = true;
    for (const link of proxy.links) link.dropReplies = link.dropRequests = true;
    const gone = seen.until((state) => !('mine' in state)).then(() => order.push('gone'));
    await Promise.all([lost, gone]);
    expect(order).toEqual(['lost', 'gone']);
    following.close();
  });

  it('a session lives on while it is renewed, over one stream', async () => {
    const TTL_MS = 5_000;
    const store = etcd.store();
    const prefix = `/moorage/${etcd.cellName()}/`;
    const sessions = await Promise.all([1, 2, 3].map(() => store.openSession({ ttlMs: TTL_MS })));
    for (const [index, session] of sessions.entries())
      await store.attempt({
        compares: [],
        writes: [{ kind: 'put', key: `${prefix}${String(index)}`, value: 'x', session }],
        readBack: [],
      });
    // Longer than any of them would have lived without its renewals; etcd looks twice a second for what is over.
    await new Promise<void>((resolve) => systemClock.after(TTL_MS + 2_000, resolve));
    expect((await store.list(prefix)).entries.size).toBe(3);
    expect(sessions.every((session) => !session.lost.aborted)).toBe(true);
    await Promise.all(sessions.map((session) => session.close()));
    expect((await store.list(prefix)).entries.size).toBe(0);
  });

  it('lists in pages at one revision, whatever is written meanwhile', async () => {
    const store = etcd.store({ pageKeysMax: 7 });
    const prefix = `/moorage/${etcd.cellName()}/`;
    const batch = Array.from({ length: 100 }, (_, index) => `${prefix}${String(index).padStart(3, '0')}`);
    const write = (value: string) =>
      store.attempt({
        compares: [],
        writes: batch.map((key) => ({ kind: 'put', key, value })),
        readBack: [],
      });
    await write('0');
    const state = { done: false };
    const writing = (async () => {
      for (let n = 1; !state.done; n++) await write(String(n));
    })();
    for (let tries = 0; tries < 10; tries++) {
      const { entries } = await store.list(prefix);
      expect(entries.size).toBe(100);
      expect(new Set([...entries.values()].map((entry) => entry.value)).size).toBe(1);
    }
    state.done = true;
    await writing;
  });

  it('lists more than the default message limit of the client', async () => {
    const store = etcd.store();
    const prefix = `/moorage/${etcd.cellName()}/`;
    const value = 'x'.repeat(60_000);
    for (let n = 0; n < 100; n++) await store.attempt(put(`${prefix}${String(n)}`, value));
    expect((await store.list(prefix)).entries.size).toBe(100);
  });

  it('fails call by call while etcd cannot be reached, and works again after', async () => {
    const { proxy, store, prefix } = await proxied();
    await store.read([]);
    proxy.refusing = true;
    proxy.cutAll();
    await expect(store.read([])).rejects.toMatchObject({ retryable: true });
    proxy.refusing = false;
    while ((await store.read([]).catch(() => null)) === null);
    expect((await store.attempt(put(`${prefix}a`, '1'))).outcome).toBe('applied');
  });
});

describe('a full store', () => {
  it('trap 4: reads, deletes and watches go on when there is no space; another cluster on the address is refused', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'moorage-full-'));
    const { path } = await findEtcd({ env: process.env });
    const small: EtcdProcess = await startEtcd({
      ...{ binary: path, dataFolder: folder, unsafeNoFsync: true, autoCompaction: 'off' },
      flags: ['--quota-backend-bytes', '2000000'],
    });
    const proxy = await TcpProxy.to(small.clientUrl);
    const store = etcd.store({ endpoints: [proxy.url] });
    try {
      const value = 'x'.repeat(20_000);
      const fill = async (): Promise<unknown> => {
        for (let n = 0; n < 1_000; n++)
          await store.attempt({
            compares: [],
            writes: [{ kind: 'put', key: `/f/${String(n)}`, value }],
            readBack: [],
          });
        return null;
      };
      await expect(fill()).rejects.toMatchObject({ code: 'no-space', retryable: true });
      for (let tries = 0; tries < 5; tries++) {
        await expect(fill()).rejects.toMatchObject({ code: 'no-space' });
        expect((await store.list('/f/')).entries.size).toBeGreaterThan(10);
      }
      const seen = new Recorder();
      await store.follow('/f/', seen).ready;
      const reply = await store.attempt({
        compares: [],
        writes: [{ kind: 'delete', key: '/f/0' }],
        readBack: [],
      });
      expect(reply.outcome).toBe('applied');
      await seen.until((state) => !('0' in state));
      await expect(store.openSession({ ttlMs: 5_000 })).rejects.toMatchObject({ code: 'no-space' });

      proxy.targetPort = Number(new URL(etcd.url).port);
      proxy.cutAll();
      let fault: unknown = { retryable: true };
      while ((fault as { retryable: boolean }).retryable)
        fault = await store.read([]).catch((error: unknown) => error);
      expect(fault).toMatchObject({ code: 'wrong-server', retryable: false });
    } finally {
      await store.close();
      await proxy.close();
      await small.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
