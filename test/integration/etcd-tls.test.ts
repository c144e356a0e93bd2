import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import type { EtcdProcess } from '../../src/adapters/etcd/server/server.ts';
import { startEtcd } from '../../src/adapters/etcd/server/server.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { EtcdUpkeep } from '../../src/adapters/etcd/upkeep.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { TestAuthority } from '../support/credentials.ts';

const KEY = '/moorage/sealed/meta';
let authority: TestAuthority;
let etcd: EtcdProcess;
let folder = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'moorage-sealed-'));
  authority = await TestAuthority.of('sealed');
  etcd = await start();
});
afterAll(async () => {
  await etcd.stop();
  authority[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<EtcdProcess> {
  const { path: binary } = await findEtcd({ env: process.env });
  const credentials = await authority.credentials('etcd', 'etcd-1');
  return startEtcd({ binary, dataFolder: join(folder, 'etcd'), unsafeNoFsync: true, credentials });
}

function storeWith(credentials: Credentials | undefined, url = etcd.clientUrl): EtcdCellStore {
  return new EtcdCellStore({
    ...{ endpoints: [url], credentials, clock: systemClock, log: silentLog, callTimeoutMs: 5_000 },
  });
}

/** Writes and reads back. @returns what went wrong; null: nothing */
async function use(store: EtcdCellStore): Promise<unknown> {
  try {
    const value = String(Math.random());
    const writes = [{ kind: 'put', key: KEY, value }] as const;
    const reply = await store.attempt({ compares: [], writes, readBack: [] });
    const { entries } = await store.read([KEY]);
    return reply.outcome === 'applied' && entries.get(KEY)?.value === value ? null : reply;
  } catch (error) {
    return error;
  }
}

describe('etcd over TLS with client certificates', () => {
  it('S4.13 serves who has a certificate of its authority, and nobody else', async () => {
    const scheduler = storeWith(await authority.credentials('scheduler', 's1'));
    expect(await use(scheduler)).toBeNull();
    await scheduler.close();
    using other = await TestAuthority.of('sealed');
    const stranger = storeWith(await other.credentials('scheduler', 's1'));
    const bare = storeWith(undefined, etcd.clientUrl.replace('https', 'http'));
    for (const store of [stranger, bare]) {
      expect(await use(store)).not.toBeNull();
      await store.close();
    }
  });

  it('S4.13 takes no other role for a member of the store', async () => {
    // Its own probe calls it by the same name, and does not get through.
    const { path: binary } = await findEtcd({ env: process.env });
    const credentials = await authority.credentials('scheduler', 'impostor');
    const starting = startEtcd({
      ...{ binary, dataFolder: join(folder, 'impostor'), unsafeNoFsync: true, credentials },
      readyTimeoutMs: 5_000,
    });
    await expect(starting).rejects.toThrow(/did not become ready in time/);
  });

  it('lists the oldest revision that is kept right after it was found', async () => {
    const credentials = await authority.credentials('scheduler', 's3');
    const store = storeWith(credentials);
    const upkeep = new EtcdUpkeep({ endpoints: [etcd.clientUrl], credentials });
    for (const _ of [1, 2, 3]) await use(store);
    const { revision } = await store.read([KEY]);
    await upkeep.compact(revision - 1);
    // It is found by a watch that the server ends, upon which it closes the connection.
    const oldest = await store.oldestRevision();
    expect(oldest).toBe(revision);
    expect((await store.list('/moorage/sealed/', oldest)).entries.size).toBe(1);
    await Promise.all([store.close(), upkeep.close()]);
  });

  it('goes on over a renewal of both ends, with connections of before and after', async () => {
    const credentials = await authority.credentials('scheduler', 's2');
    const store = storeWith(credentials);
    expect(await use(store)).toBeNull();
    const before = credentials.now.certificate;
    await authority.issue('scheduler', 's2');
    await authority.issue('etcd', 'etcd-1');
    credentials.reload();
    expect(credentials.now.certificate).not.toBe(before);
    expect(await use(store)).toBeNull();
    const listed = new Promise<void>((resolve) => {
      const following = store.follow('/moorage/sealed/', {
        onSnapshot: () => {
          following.close();
          resolve();
        },
        onChanges: () => undefined,
      });
    });
    await listed;
    await store.close();
  });
});
