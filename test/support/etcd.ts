import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { EtcdCellStore, type EtcdStoreOptions } from '../../src/adapters/etcd/etcd.ts';
import type { EtcdProcess, StartEtcdOptions } from '../../src/adapters/etcd/server/server.ts';
import { startEtcd } from '../../src/adapters/etcd/server/server.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { removeFolder } from './folders.ts';

export interface TestEtcd {
  readonly url: string;
  readonly process: EtcdProcess;
  /** A store that is closed at the end of the file at the latest. */
  store(options?: Partial<EtcdStoreOptions>): EtcdCellStore;
  /** A cell name that no other test uses, so that tests of a file can share one server. */
  cellName(): string;
}

/** Of a machine that stands still for seconds the store is not to be told: who tests deadlines gives shorter ones. */
const CALL_TIMEOUT_MS = 30_000;
const READY_TIMEOUT_MS = 120_000;

/** One etcd for all tests of a file, on free ports and a folder of its own; gone when they have run. */
export function useEtcd(options: Partial<StartEtcdOptions> = {}): TestEtcd {
  const stores: EtcdCellStore[] = [];
  let folder = '';
  let server: EtcdProcess | null = null;
  let cells = 0;
  const running = (): EtcdProcess => {
    if (server === null) throw new Error('etcd is not up outside of tests');
    return server;
  };
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'moorage-etcd-'));
    const { path } = await findEtcd({ env: process.env });
    server = await startEtcd({
      binary: path,
      dataFolder: folder,
      unsafeNoFsync: true,
      autoCompaction: 'off',
      readyTimeoutMs: READY_TIMEOUT_MS,
      ...options,
    });
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await server?.stop();
    removeFolder(folder);
  });
  return {
    get url() {
      return running().clientUrl;
    },
    get process() {
      return running();
    },
    store(more = {}) {
      const store = new EtcdCellStore({
        endpoints: [running().clientUrl],
        clock: systemClock,
        log: silentLog,
        callTimeoutMs: CALL_TIMEOUT_MS,
        ...more,
      });
      stores.push(store);
      return store;
    },
    cellName: () => `c${String((cells += 1))}`,
  };
}
