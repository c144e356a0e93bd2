/**
 * The test bed of the benches: an etcd of its own in a temporary folder, and a client of it. Beside it lies what several
 * benches need:
 *
 * - `fill.ts` writes hosts with their allocations and ledgers; `large-cell.ts` makes a large cell of them.
 * - `flags.ts` reads the flags of a bench.
 * - `plain-request.ts` makes groups and requests without constraints.
 * - `metrics.ts` reads the metrics of a role. `late.ts` knows failures of a cell that is busy.
 * - `warm-memory.ts` makes the machine's free memory equally quick to take before each measurement.
 * - `process-cpu.ts` reads how much processor time a process has used; `percentile.ts` sums the figures up.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Certificates } from '../../cli/local-cell/certificates.ts';
import { secureCellStore } from '../../cli/operator/secure.ts';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import type { EtcdProcess } from '../../src/adapters/etcd/server/server.ts';
import { startEtcd } from '../../src/adapters/etcd/server/server.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import type { StoreLimits } from '../../src/ports/cell-store.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';

export interface Bed {
  readonly etcd: EtcdProcess;
  readonly etcdVersion: string;
  readonly endpoints: readonly string[];
  readonly store: EtcdCellStore;
  /** What the bench and the cell's processes show each other; undefined: the cell is plain. */
  readonly secured: Secured | undefined;
  /** Temporary; goes with the bed. */
  readonly folder: string;
  close(): Promise<void>;
}

export interface Secured {
  /** An operator's. */
  readonly credentials: Credentials;
  readonly certificates: Certificates;
}

/** @param options `secured`: the cell of this name has TLS, certificates and users of its store */
export async function startBed(
  options: {
    readonly limits?: StoreLimits;
    readonly autoCompaction?: 'off';
    readonly secured?: string | undefined;
  } = {},
): Promise<Bed> {
  const { limits, secured: cell, ...kept } = options;
  const folder = mkdtempSync(join(tmpdir(), 'moorage-bench-'));
  const { path, version } = await findEtcd({ env: process.env });
  const secured = cell === undefined ? undefined : await certificatesOf(cell, folder);
  const own = await secured?.certificates.open('etcd', 'etcd-1');
  const etcd = await startEtcd({
    ...{ binary: path, dataFolder: join(folder, 'etcd'), ...kept },
    ...(own === undefined ? {} : { credentials: own }),
  });
  const endpoints = [etcd.clientUrl];
  const credentials = secured?.credentials;
  if (cell !== undefined && credentials !== undefined)
    await secureCellStore({ endpoints, cell, credentials }, Date.now());
  const common = { endpoints, credentials, clock: systemClock, log: silentLog };
  const store = new EtcdCellStore(limits === undefined ? common : { ...common, limits });
  return {
    ...{ etcd, etcdVersion: version, endpoints, store, folder, secured },
    close: async () => {
      await store.close();
      await etcd.stop();
      secured?.certificates.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function certificatesOf(cell: string, folder: string): Promise<Secured> {
  const certificates = new Certificates(join(folder, 'pki'), (text) => process.stderr.write(`${text}\n`));
  await certificates.init(cell);
  return { certificates, credentials: await certificates.open('operator', 'bench') };
}
