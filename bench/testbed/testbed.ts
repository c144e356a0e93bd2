/**
 * The test bed of the benches: an etcd of its own in a temporary folder, and a client of it. Beside it lies what several
 * benches need:
 *
 * - `fill.ts` writes hosts with their allocations and ledgers; `large-cell.ts` makes a large cell of them.
 * - `flags.ts` reads the flags of a bench.
 * - `plain-request.ts` makes groups and requests without constraints.
 * - `warm-memory.ts` makes the machine's free memory equally quick to take before each measurement.
 * - `etcd-cpu.ts` reads how much processor time etcd has used; `percentile.ts` sums the figures up.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import type { EtcdProcess } from '../../src/adapters/etcd/server/server.ts';
import { startEtcd } from '../../src/adapters/etcd/server/server.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import type { StoreLimits } from '../../src/ports/cell-store.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';

export interface Bed {
  readonly etcd: EtcdProcess;
  readonly etcdVersion: string;
  readonly endpoints: readonly string[];
  readonly store: EtcdCellStore;
  /** Temporary; goes with the bed. */
  readonly folder: string;
  close(): Promise<void>;
}

export async function startBed(
  options: { readonly limits?: StoreLimits; readonly autoCompaction?: 'off' } = {},
): Promise<Bed> {
  const { limits, ...kept } = options;
  const folder = mkdtempSync(join(tmpdir(), 'moorage-bench-'));
  const { path, version } = await findEtcd({ env: process.env });
  const etcd = await startEtcd({ binary: path, dataFolder: join(folder, 'etcd'), ...kept });
  const endpoints = [etcd.clientUrl];
  const common = { endpoints, clock: systemClock, log: silentLog };
  const store = new EtcdCellStore(limits === undefined ? common : { ...common, limits });
  return {
    ...{ etcd, etcdVersion: version, endpoints, store, folder },
    close: async () => {
      await store.close();
      await etcd.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
