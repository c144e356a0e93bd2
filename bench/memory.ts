import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { EtcdCellStore } from '../src/adapters/etcd/cell-store.ts';
import { startEtcd } from '../src/adapters/etcd/etcd-process.ts';
import { findEtcd } from '../src/adapters/etcd/find-etcd.ts';
import { systemClock } from '../src/adapters/system/clock.ts';
import { silentLog } from '../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../src/core/keys.ts';
import { fillLarge } from './large-cell.ts';
import type { MemoryOrder, MemoryReport } from './memory-worker.ts';

/**
 * What a scheduler's private copy of a large cell takes: the whole memory of a process that follows the cell in a real
 * etcd and decides on it. Allocations are in the store and are never read.
 */
const { values } = parseArgs({
  options: {
    hosts: { type: 'string', default: '100000' },
    allocations: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
  },
});
const [hosts, allocations, seed] = [Number(values.hosts), Number(values.allocations), Number(values.seed)];

const folder = mkdtempSync(join(tmpdir(), 'moorage-bench-'));
const found = await findEtcd({ env: process.env });
const etcd = await startEtcd({ binary: found.path, dataFolder: folder });
const endpoints = [etcd.clientUrl];
const store = new EtcdCellStore({ endpoints, clock: systemClock, log: silentLog });
try {
  const startMs = performance.now();
  await fillLarge(store, cellKeys('large'), { hosts, allocations, seed });
  const sizes = `hosts=${String(hosts)} allocations=${String(allocations)} etcd=${found.version} seed=${String(seed)}`;
  console.log(`memory fill ${sizes} seconds=${((performance.now() - startMs) / 1000).toFixed(0)}`);
  const report = await measure({ endpoints, cell: 'large', hosts, seed });
  console.log(
    `memory scheduler ${sizes} ready_ms=${report.readyMs.toFixed(0)} rss_mb=${mb(report.rss)} ` +
      `rss_peak_mb=${mb(report.rssPeak)} heap_mb=${mb(report.heap)} buffers_mb=${mb(report.buffers)} wanted=rss<=600`,
  );
  console.log(`memory each ${sizes} bytes_a_host=${((report.heap + report.buffers) / hosts).toFixed(0)}`);
} finally {
  await store.close();
  await etcd.stop();
  rmSync(folder, { recursive: true, force: true });
}

function measure(order: MemoryOrder): Promise<MemoryReport> {
  const file = fileURLToPath(new URL('./memory-worker.js', import.meta.url));
  const child = fork(file, [JSON.stringify(order)], { execArgv: [...process.execArgv, '--expose-gc'] });
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as MemoryReport));
    child.once('exit', (code) => reject(new Error(`the worker ended with ${String(code)}`)));
  });
}

/** Millions of bytes. */
function mb(bytes: number): string {
  return (bytes / 1_000_000).toFixed(0);
}
