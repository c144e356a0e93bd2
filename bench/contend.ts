import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { EtcdCellStore } from '../src/adapters/etcd/cell-store.ts';
import type { EtcdProcess } from '../src/adapters/etcd/etcd-process.ts';
import { startEtcd } from '../src/adapters/etcd/etcd-process.ts';
import { findEtcd } from '../src/adapters/etcd/find-etcd.ts';
import { systemClock } from '../src/adapters/system/clock.ts';
import { silentLog } from '../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../src/core/keys.ts';
import type { SharedResource } from '../src/core/shared-resource.ts';
import { allocationCodec, sharedResourceCodec } from '../src/wire/records.ts';
import { checkHistory } from '../sim/checkers/check-history.ts';
import type { WorkerOrder, WorkerReport } from './contend-worker.ts';
import { fillHalf } from './half-full.ts';
import { percentile } from './percentile.ts';

/**
 * Several scheduler processes on one half-full cell: the rate of all together against that of one, how often they were in
 * each other's way, and how long a commit took. Afterwards everything that any of them was told is committed must be in
 * the store, and the whole history must keep the laws.
 */
const { values } = parseArgs({
  options: {
    hosts: { type: 'string', default: '10000' },
    processes: { type: 'string', default: '1,2,4,8' },
    together: { type: 'string', default: '64' },
    inFlight: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
    /** The schedulers do not know of each other. */
    strangers: { type: 'boolean', default: false },
    /** Every placement takes some of one pool, which the whole cell shares. */
    pool: { type: 'boolean', default: false },
    warmUp: { type: 'string', default: '40000' },
  },
});
const hosts = Number(values.hosts);
const seed = Number(values.seed);
const counts = values.processes.split(',').map(Number);
/** More than anybody takes. */
const POOL: SharedResource = { name: 'uplink', unit: '', by: null, capacity: 1e12, capacities: {} };

interface Result {
  readonly perSecond: number;
  readonly conflictsPerCommit: number;
  readonly rebasesPerCommit: number;
  readonly refusedPerTransaction: number;
  readonly cpuUsEach: number;
  /** CPU time of etcd, from the beginning of the workers to their end, for each allocation that they wrote. */
  readonly etcdCpuUsEach: number;
  readonly durationsMs: readonly number[];
}

const found = await findEtcd({ env: process.env });
const CELL = 'contend';
const keys = cellKeys(CELL);
let failed = false;

const results = new Map<number, Result[]>();
for (let round = 1; round <= Number(values.rounds); round++)
  for (const count of counts) {
    const result = await onNewStore((ground) => contend(count, ground));
    results.set(count, [...(results.get(count) ?? []), result]);
  }
report(results);
if (failed) process.exitCode = 1;

interface Ground {
  readonly etcd: EtcdProcess;
  readonly store: EtcdCellStore;
}

/** Each measurement has an etcd of its own: one that holds what the ones before wrote takes twice the time for a write. */
async function onNewStore<T>(work: (ground: Ground) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-bench-'));
  const etcd = await startEtcd({ binary: found.path, dataFolder: folder });
  const store = new EtcdCellStore({ endpoints: [etcd.clientUrl], clock: systemClock, log: silentLog });
  try {
    return await work({ etcd, store });
  } finally {
    await store.close();
    await etcd.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function report(results: ReadonlyMap<number, readonly Result[]>): void {
  const sizes = `hosts=${String(hosts)} together=${values.together} in_flight=${values.inFlight} strangers=${String(values.strangers)} pool=${String(values.pool)}`;
  for (const [count, all] of results) {
    const of = (pick: (result: Result) => number): number => median(all.map(pick));
    const durations = all.flatMap((result) => result.durationsMs);
    console.log(
      `contend processes=${String(count)} ${sizes} etcd=${found.version} seed=${String(seed)} ` +
        `per_second=${of((one) => one.perSecond).toFixed(0)} cpu_us_each=${of((one) => one.cpuUsEach).toFixed(1)} ` +
        `etcd_cpu_us_each=${of((one) => one.etcdCpuUsEach).toFixed(1)} ` +
        `conflicts_per_commit=${of((one) => one.conflictsPerCommit).toFixed(4)} ` +
        `rebases_per_commit=${of((one) => one.rebasesPerCommit).toFixed(4)} ` +
        `refused_per_transaction=${of((one) => one.refusedPerTransaction).toFixed(3)} ` +
        `commit_ms_p50=${percentile(durations, 0.5).toFixed(1)} p99=${percentile(durations, 0.99).toFixed(1)}`,
    );
  }
  const alone = results.get(1);
  for (const [count, all] of results) {
    if (alone === undefined || count === 1) continue;
    const ratios = all.map((one, round) => one.perSecond / (alone[round]?.perSecond ?? Number.NaN));
    const range = `${Math.min(...ratios).toFixed(2)}..${Math.max(...ratios).toFixed(2)}`;
    console.log(
      `contend ratio processes-${String(count)}-to-1 seed=${String(seed)} value=${median(ratios).toFixed(2)} ` +
        `rounds=${range}${count === 4 ? ' wanted=>=0.90' : ''}`,
    );
  }
}

async function contend(count: number, { etcd, store }: Ground): Promise<Result> {
  await fillHalf(store, keys, hosts, seed);
  if (values.pool) {
    const key = keys.sharedResource(POOL.name);
    const writes = [{ kind: 'put', key, value: sharedResourceCodec.encode(POOL) }] as const;
    await store.attempt({ compares: [], writes, readBack: [] });
  }
  const workers = Array.from({ length: count }, (_, n) => start(n, count, etcd));
  await Promise.all(workers.map(({ ready }) => ready));
  const etcdBeforeUs = etcdCpuUs(etcd);
  for (const { child } of workers) child.send('begin');
  await Promise.all(workers.map(({ warm }) => warm));
  for (const { child } of workers) child.send('measure');
  const reports = await Promise.all(workers.map(({ report }) => report));
  const etcdUs = etcdCpuUs(etcd) - etcdBeforeUs;
  await prove(store, reports);
  const sum = (pick: (report: WorkerReport) => number): number =>
    reports.reduce((all, report) => all + pick(report), 0);
  const commits = sum((one) => one.committed + one.rebased);
  return {
    perSecond: sum((one) => one.counted / one.seconds),
    conflictsPerCommit: sum((one) => one.conflicted) / commits,
    rebasesPerCommit: sum((one) => one.rebased) / commits,
    refusedPerTransaction: sum((one) => one.refused) / sum((one) => one.transactions),
    cpuUsEach: sum((one) => one.cpuUs) / sum((one) => one.counted),
    etcdCpuUsEach: etcdUs / commits,
    durationsMs: reports.flatMap((one) => one.durationsMs),
  };
}

interface Worker {
  readonly child: ChildProcess;
  readonly ready: Promise<void>;
  /** It runs as fast as it ever will. */
  readonly warm: Promise<void>;
  readonly report: Promise<WorkerReport>;
}

function start(part: number, parts: number, etcd: EtcdProcess): Worker {
  const number = part + 1;
  const order: WorkerOrder = {
    ...{ endpoints: [etcd.clientUrl], cell: CELL, name: `contend-${String(number)}`, hosts },
    ...{ together: Number(values.together), inFlight: Number(values.inFlight), seed: seed * 1000 + number },
    seconds: Number(values.seconds),
    // By then the compiler is done with nearly all, however many processes share the processors: after a time alone, many
    // would be measured while they compile.
    warmUp: Number(values.warmUp),
    shared: values.pool ? { [POOL.name]: 1 } : null,
    part: values.strangers ? null : { part, parts },
  };
  const child = fork(fileURLToPath(new URL('./contend-worker.js', import.meta.url)), [JSON.stringify(order)]);
  const gone = new Promise<never>((_, reject) => {
    child.once('exit', (code) => reject(new Error(`worker ${String(number)} ended with ${String(code)}`)));
  });
  gone.catch(() => undefined);
  const said = (word: string): Promise<void> => {
    const heard = new Promise<void>((resolve) =>
      child.on('message', (message) => message === word && resolve()),
    );
    return Promise.race([heard, gone]);
  };
  const report = new Promise<WorkerReport>((resolve) => {
    child.on('message', (message) => typeof message === 'object' && resolve(message as WorkerReport));
  });
  return { child, ready: said('ready'), warm: said('warm'), report: Promise.race([report, gone]) };
}

/** Nothing that was said to be committed is missing, nothing else is there, and the history keeps the laws. */
async function prove(store: EtcdCellStore, reports: readonly WorkerReport[]): Promise<void> {
  const { entries } = await store.list(keys.allocations);
  const stored = new Set<string>();
  for (const { value } of entries.values()) {
    const { id, job } = allocationCodec.decode(value);
    if (job.startsWith('contend-')) stored.add(id);
  }
  const claimed = reports.flatMap(({ ids }) => ids);
  const lost = claimed.filter((id) => !stored.has(id)).length;
  const check = await checkHistory(store, keys, []);
  const isClean = lost === 0 && stored.size === claimed.length && check.verdict === 'holds';
  failed ||= !isClean;
  console.log(
    `contend check processes=${String(reports.length)} committed=${String(claimed.length)} lost=${String(lost)} ` +
      `unclaimed=${String(stored.size - claimed.length + lost)} history=${check.verdict} ` +
      `revisions=${String(check.revisions)} violations=${String(check.violationsTotal)}`,
  );
  for (const { invariant, detail } of check.violations) console.log(`  ${invariant}: ${detail}`);
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;
}

/** CPU time of etcd since it started, from the kernel's hundredths of a second. */
function etcdCpuUs(etcd: EtcdProcess): number {
  const stat = readFileSync(`/proc/${String(etcd.pid)}/stat`, 'utf8');
  const [, , , , , , , , , , , user, system] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(user) + Number(system)) * 10_000;
}
