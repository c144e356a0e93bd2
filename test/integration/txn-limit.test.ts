import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import type { EtcdProcess } from '../../src/adapters/etcd/server/server.ts';
import { startEtcd } from '../../src/adapters/etcd/server/server.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import { OPERATIONS_WANTED } from '../../src/adapters/etcd/txn-limit.ts';
import { DEFAULT_STORE_LIMITS } from '../../src/adapters/store/store.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import type { Attempt } from '../../src/ports/cell-store.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const PATIENCE_MS = 60_000;
const cleanups: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const FEWER = ['--max-txn-ops', String(DEFAULT_STORE_LIMITS.operationsMax)];

async function server(folder: string, flags: readonly string[] = []) {
  const { path } = await findEtcd({ env: process.env });
  const etcd: EtcdProcess = await startEtcd({
    ...{ binary: path, dataFolder: folder, unsafeNoFsync: true, flags, readyTimeoutMs: PATIENCE_MS },
  });
  cleanups.push(() => etcd.stop());
  return etcd;
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-etcd-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function storeOf(clientUrl: string): EtcdCellStore {
  const store = new EtcdCellStore({
    ...{ endpoints: [clientUrl], clock: systemClock, log: silentLog },
    callTimeoutMs: PATIENCE_MS,
  });
  cleanups.push(() => store.close());
  return store;
}

function puts(count: number): Attempt {
  const keys = Array.from({ length: count }, (_, n) => `/moorage/limit/${String(n)}`);
  return {
    compares: [],
    writes: keys.map((key) => ({ kind: 'put' as const, key, value: '1' })),
    readBack: [],
  };
}

const raised = (store: EtcdCellStore): Promise<void> =>
  vi.waitFor(() => expect(store.limits.operationsMax).toBe(OPERATIONS_WANTED), { timeout: PATIENCE_MS });

describe('how large a transaction may be', () => {
  it('is learnt from a server that takes more than the default', async () => {
    const store = storeOf((await server(newFolder())).clientUrl);
    expect(store.limits).toEqual(DEFAULT_STORE_LIMITS);
    await store.read([]);
    await raised(store);
    await expect(store.attempt(puts(OPERATIONS_WANTED))).resolves.toMatchObject({ outcome: 'applied' });
    await expect(store.attempt(puts(OPERATIONS_WANTED + 1))).rejects.toMatchObject({ code: 'too-large' });
  });

  it('stays what etcd takes by default where the server takes no more', async () => {
    const store = storeOf((await server(newFolder(), FEWER)).clientUrl);
    await store.read([]);
    // Calls of one connection are answered in their turn: by the second reply the question has been answered too.
    const { operationsMax } = DEFAULT_STORE_LIMITS;
    for (let n = 0; n < 20; n++)
      await expect(store.attempt(puts(operationsMax))).resolves.toMatchObject({ outcome: 'applied' });
    expect(store.limits).toEqual(DEFAULT_STORE_LIMITS);
  });

  it('goes back to the default when a member takes fewer, and says that the same may be tried again', async () => {
    const folder = newFolder();
    const before = await server(folder);
    // The port is held meanwhile: a server that stops gives its own to whoever comes first.
    const proxy = await TcpProxy.to(before.clientUrl);
    cleanups.push(() => proxy.close());
    const store = storeOf(proxy.url);
    await store.read([]);
    await raised(store);
    await before.stop();
    proxy.targetPort = Number(new URL((await server(folder, FEWER)).clientUrl).port);
    await vi.waitFor(() => store.read([]), { timeout: PATIENCE_MS });
    // All that were under way are told the same, reads too.
    const keys = puts(300).writes.map(({ key }) => key);
    const calls = [store.attempt(puts(300)), store.attempt(puts(300)), store.read(keys)];
    for (const call of await Promise.allSettled(calls))
      expect(call).toMatchObject({ reason: { code: 'unavailable', retryable: true } });
    expect((await store.read(keys)).entries.size).toBe(0);
    expect(store.limits).toEqual(DEFAULT_STORE_LIMITS);
    await expect(store.attempt(puts(128))).resolves.toMatchObject({ outcome: 'applied' });
  });
});
