/**
 * What a large cell takes, in a real etcd that holds all of it: the memory of a scheduler's private copy alone, and of a
 * whole scheduler that reads what all hosts report besides; how long changes take to those who follow the cell; and the
 * store's database before and after its history is compacted.
 *
 * `memory-worker.ts` is the process with the private copy, `scheduler-memory-worker.ts` that of the whole scheduler, and
 * `relay-server.ts` the monitor that it reads; both report by `memory-report.ts`. `store-scale.ts` measures the store.
 */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { builtFile } from '../../src/adapters/system/package-files.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { roleCodec } from '../../src/wire/records/records.ts';
import { startBed } from '../testbed/testbed.ts';
import { fillLarge } from '../testbed/large-cell.ts';
import type { MemoryReport } from './memory-report.ts';
import type { MemoryOrder } from './memory-worker.ts';
import { percentile } from '../testbed/percentile.ts';
import { serveRelay } from './relay-server.ts';
import type { SchedulerMemoryOrder } from './scheduler-memory-worker.ts';
import { measureDatabase, measureLag } from './store-scale.ts';
import { flagsOf } from '../testbed/flags.ts';

const { hosts, allocations, commits, seed } = flagsOf({
  ...{ hosts: 100_000, allocations: 1_000_000, commits: 5_000, seed: 1 },
});
const CELL = 'large';
const keys = cellKeys(CELL);

const bed = await startBed({ autoCompaction: 'off' });
const { endpoints, store } = bed;
const sizes = `hosts=${String(hosts)} allocations=${String(allocations)} etcd=${bed.etcdVersion} seed=${String(seed)}`;
try {
  const startMs = performance.now();
  await fillLarge(store, keys, { hosts, allocations, seed });
  console.log(`memory fill ${sizes} seconds=${((performance.now() - startMs) / 1000).toFixed(0)}`);
  const cell = start('memory-worker', { endpoints, cell: CELL, hosts, seed });
  const alone = await reportOf(cell);
  show('cell', alone);
  console.log(`memory each ${sizes} bytes_a_host=${((alone.heap + alone.buffers) / hosts).toFixed(0)}`);
  const whole = await measureScheduler();
  show('scheduler', whole);
  const more = (whole.heap + whole.buffers - alone.heap - alone.buffers) / hosts;
  console.log(`memory reports ${sizes} bytes_a_host=${more.toFixed(0)}`);
  const { lagMs, commitsPerSecond } = await measureLag(endpoints, keys, commits);
  console.log(
    `memory watch ${sizes} commits=${String(commits)} a_second=${commitsPerSecond.toFixed(0)} ` +
      `lag_ms_p50=${percentile(lagMs, 0.5).toFixed(1)} lag_ms_p99=${percentile(lagMs, 0.99).toFixed(1)}`,
  );
  const database = await measureDatabase(endpoints);
  console.log(
    `memory database ${sizes} commits=${String(commits)} bytes=${String(database.before)} ` +
      `compacted_bytes=${String(database.compacted)} in_use_bytes=${String(database.compactedInUse)} ` +
      `defragmented_bytes=${String(database.defragmented)} ` +
      `compact_ms=${database.compactMs.toFixed(0)} defragment_ms=${database.defragmentMs.toFixed(0)}`,
  );
} finally {
  await bed.close();
}

/** A whole scheduler, with a monitor that relays what every host reports. */
async function measureScheduler(): Promise<MemoryReport> {
  const relay = await serveRelay({ hosts, allocations, seed });
  try {
    const record = { kind: 'monitor', id: 'bench', version: '0', policy: '', startedAtMs: 0 } as const;
    const value = roleCodec.encode({ ...record, address: relay.address });
    const key = keys.role('monitor', 'bench');
    await store.attempt({ compares: [], writes: [{ kind: 'put', key, value }], readBack: [] });
    const child = start('scheduler-memory-worker', { endpoints, cell: CELL });
    const report = reportOf(child);
    await Promise.race([relay.sent, report]);
    child.send('sent');
    return await report;
  } finally {
    relay.close();
  }
}

function start(worker: string, order: MemoryOrder | SchedulerMemoryOrder): ChildProcess {
  return fork(builtFile(`bench/memory/${worker}.js`), [JSON.stringify(order)], {
    execArgv: [...process.execArgv, '--expose-gc'],
  });
}

function reportOf(child: ChildProcess): Promise<MemoryReport> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as MemoryReport));
    child.once('exit', (code) => reject(new Error(`the worker ended with ${String(code)}`)));
  });
}

function show(what: string, report: MemoryReport): void {
  console.log(
    `memory ${what} ${sizes} ready_ms=${report.readyMs.toFixed(0)} rss_mb=${mb(report.rss)} ` +
      `rss_peak_mb=${mb(report.rssPeak)} heap_mb=${mb(report.heap)} buffers_mb=${mb(report.buffers)} wanted=rss<=600`,
  );
}

/** Millions of bytes. */
function mb(bytes: number): string {
  return (bytes / 1_000_000).toFixed(0);
}
