import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { etcdClient } from '../../src/adapters/etcd/client/client.ts';
import { secureStore } from '../../src/adapters/etcd/rights.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import { startEtcd } from '../../src/adapters/etcd/server/server.ts';
import { AuthorityFolder } from '../../src/adapters/pki/authority-folder.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import { DEFAULT_STORE_LIMITS } from '../../src/adapters/store/store.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import type { IdentityRole } from '../../src/core/access/identity.ts';
import { storeAreas } from '../../src/core/access/store-rights.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { processCpuUs } from '../testbed/process-cpu.ts';
import { flagsOf } from '../testbed/flags.ts';
import { percentile } from '../testbed/percentile.ts';
import { makeDirectWriter } from './direct-commits.ts';

/**
 * What etcd's check of rights costs a commit: a scheduler's transactions over TLS, with the check on and off in turns on one
 * server. `npm run bench -- users --together 1` for single placements.
 */
const { hosts, placements, together, inFlight, rounds, seed } = flagsOf({
  ...{ hosts: 10_000, placements: 12_800, together: 64, inFlight: 8, rounds: 8, seed: 1 },
});
const CELL = 'bench';
const TTL_MS = 3_600_000;

const folder = mkdtempSync(join(tmpdir(), 'moorage-bench-'));
const authority = new AuthorityFolder(join(folder, 'pki'));
const times = { nowMs: Date.now(), ttlMs: TTL_MS };
await authority.init(CELL, times);
const credentialsOf = async (role: IdentityRole) => {
  const issued = await authority.issue({ role, id: 'bench' }, { ...times, hosts: ['127.0.0.1'] });
  return openCredentials(issued.folder, null);
};
const { path: binary, version } = await findEtcd({ env: process.env });
const etcd = await startEtcd({
  ...{ binary, dataFolder: join(folder, 'etcd'), credentials: await credentialsOf('etcd') },
});
const endpoints = [etcd.clientUrl];
const keys = cellKeys(CELL);
const root = { endpoints, credentials: await credentialsOf('operator') };
await secureStore(root, storeAreas(keys));
const operator = etcdClient(root);
const store = new EtcdCellStore({
  ...{ endpoints, credentials: await credentialsOf('scheduler'), limits: DEFAULT_STORE_LIMITS },
  ...{ clock: systemClock, log: silentLog },
});
const writer = makeDirectWriter({ store, keys, hosts, together, inFlight, seed });

interface Turn {
  readonly seconds: number;
  readonly etcdUs: number;
}

async function turn(checked: boolean): Promise<Turn> {
  await (checked ? operator.auth.authEnable() : operator.auth.authDisable());
  const cpuUs = processCpuUs(etcd);
  const startMs = performance.now();
  await writer.write(placements);
  return {
    seconds: (performance.now() - startMs) / 1000,
    etcdUs: (processCpuUs(etcd) - cpuUs) / placements,
  };
}

try {
  const turns: { on: Turn[]; off: Turn[] } = { on: [], off: [] };
  for (const checked of [true, false]) await turn(checked);
  for (let round = 0; round < rounds; round++)
    for (const checked of round % 2 === 0 ? [true, false] : [false, true])
      turns[checked ? 'on' : 'off'].push(await turn(checked));
  const median = (of: readonly Turn[], pick: (turn: Turn) => number): number => percentile(of.map(pick), 0.5);
  for (const check of ['on', 'off'] as const) {
    const perSecond = placements / median(turns[check], ({ seconds }) => seconds);
    const etcdUs = median(turns[check], (one) => one.etcdUs);
    console.log(
      `users check=${check} together=${String(together)} in_flight=${String(inFlight)} etcd=${version} seed=${String(seed)} ` +
        `per_second=${perSecond.toFixed(0)} etcd_cpu_us_each=${etcdUs.toFixed(1)}`,
    );
  }
  const ratios = turns.on.map((on, at) => (turns.off[at]?.seconds ?? 0) / on.seconds);
  const range = `${Math.min(...ratios).toFixed(2)}..${Math.max(...ratios).toFixed(2)}`;
  console.log(`users ratio on-to-off value=${percentile(ratios, 0.5).toFixed(2)} rounds=${range}`);
} finally {
  operator.close();
  await store.close();
  await etcd.stop();
  rmSync(folder, { recursive: true, force: true });
}
