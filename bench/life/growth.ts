import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { builtFile } from '../../src/adapters/system/package-files.ts';
import { makeKeyFiles } from '../../src/adapters/tickets/key-files.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import { BenchCell } from '../cell/cell.ts';
import { flagsOf } from '../testbed/flags.ts';
import { isLate } from '../testbed/late.ts';
import { startBed } from '../testbed/testbed.ts';

/**
 * Does a cell stay as large as it is? One-off runs and versions of one service pass through it, many more than it keeps, and the
 * sizes of the store and of each role are taken meanwhile. Each is shown as a line of blocks over time and as the mean of its last
 * quarter to that of its second one: about 1 when it has levelled off. In the end `moorage check` looks at every record.
 */
const flags = flagsOf({
  runs: 20_000,
  /** Spread evenly over the runs. */
  versions: 2_000,
  /** Of so many versions one is waited for until an instance of it runs; the next one takes the place of the others. */
  'versions-a-wait': 10,
  /** No run begins after so long; 0: all of them do. */
  minutes: 0,
  hosts: 50,
  /** Runs under way at once. */
  lanes: 200,
  ...{ 'runs-kept': 2_000, 'history-kept': '1m', 'sample-s': 5 },
});
const CELL = 'bench';
const AGAIN_MAX_MS = 60_000;
const AGAIN_PAUSE_MS = 100;
const POLL_MS = 20;
const TELL_MS = 60_000;
const bed = await startBed({ secured: CELL });
const cell = new BenchCell(bed, CELL);
const http = undiciClient({ credentials: bed.secured?.credentials });

/** What is measured, by its name, sample by sample. */
class Samples {
  readonly #series = new Map<string, number[]>();

  add(values: Iterable<readonly [name: string, value: number]>): void {
    for (const [name, value] of values) {
      const known = this.#series.get(name);
      if (known === undefined) this.#series.set(name, [value]);
      else known.push(value);
    }
  }

  print(): void {
    for (const [name, values] of this.#series) {
      const quarter = Math.max(1, Math.floor(values.length / 4));
      const ratio = mean(values.slice(-quarter)) / mean(values.slice(quarter, 2 * quarter));
      console.log(
        `growth ${name.padEnd(22)} ${blocks(values)} first=${String(values[0])} most=${String(Math.max(...values))}` +
          ` last=${String(values.at(-1))} last_quarter_to_second=${ratio.toFixed(2)}`,
      );
    }
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

const HEIGHTS = '▁▂▃▄▅▆▇█';
const WIDTH = 60;

/** A line of blocks from 0 to the most. */
function blocks(values: readonly number[]): string {
  const most = Math.max(1, ...values);
  const columns = Math.min(WIDTH, values.length);
  return Array.from({ length: columns }, (_, at) => {
    const value = values[Math.floor((at * values.length) / columns)] ?? 0;
    return HEIGHTS[Math.min(HEIGHTS.length - 1, Math.floor((value / most) * HEIGHTS.length))];
  }).join('');
}

function* residentMib(): Generator<readonly [string, number]> {
  const pids = [{ name: 'etcd', pid: bed.etcd.pid }, ...cell.processes.members];
  for (const { name, pid } of pids) {
    const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
    yield [`${name}_mib`, Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024)];
  }
}

async function sample(client: MonitorClient, samples: Samples): Promise<void> {
  const { store, kept, allocations } = await client.cell({ timeoutMs: 60_000 });
  samples.add([
    ['database_kib', Math.round((store?.databaseBytes ?? 0) / 1024)],
    ['in_use_kib', Math.round((store?.inUseBytes ?? 0) / 1024)],
    ['ended_runs', kept?.runs.count ?? 0],
    ['versions', kept?.versions.count ?? 0],
    ['outcomes', kept?.outcomes.count ?? 0],
    ['allocations', allocations],
    ...residentMib(),
  ]);
}

/** A call that did not come about is made again, for a minute: a run's key and a spec say that it is the same. */
async function again<T>(call: () => Promise<T>): Promise<T> {
  const untilMs = performance.now() + AGAIN_MAX_MS;
  for (;;)
    try {
      return await call();
    } catch (error) {
      if (!isLate(error) || performance.now() > untilMs) throw error;
      await sleep(AGAIN_PAUSE_MS);
    }
}

const endMs = flags.minutes === 0 ? Infinity : performance.now() + flags.minutes * 60_000;
const isTime = (): boolean => performance.now() < endMs;
/** How many runs have begun, and how many versions are submitted. */
let begun = 0;
let submitted = 0;

async function passRuns(client: MonitorClient): Promise<void> {
  const lane = async (): Promise<void> => {
    while (begun < flags.runs && isTime()) {
      const n = begun++;
      const file = { name: 'run', type: 'batch', command: ['hollow'], env: { HOLLOW_RUN_MS: '1' } };
      const { namespace, job } = await again(() => client.run(file, `growth-${String(n)}`));
      while ((await again(() => client.exit({ namespace, job }, 5_000))) === null) continue;
    }
  };
  await Promise.all(Array.from({ length: flags.lanes }, lane));
}

async function passVersions(client: MonitorClient): Promise<void> {
  const file = { name: 'web', type: 'service', count: 2, command: ['hollow'], update: { minHealthy: '0s' } };
  for (let version = 1; version <= flags.versions && isTime(); version++) {
    while ((begun * flags.versions) / flags.runs < version - 1 && isTime()) await sleep(POLL_MS);
    submitted = version;
    await again(() => client.submit({ ...file, env: { VERSION: String(version) } }));
    if (version % flags['versions-a-wait'] !== 0) continue;
    const isUp = async (): Promise<boolean> => {
      const { allocations } = await again(() => client.status({ namespace: 'default', job: 'web' }));
      return allocations.some(
        (one) => one.allocation.jobVersion === version && one.report?.state === 'running',
      );
    };
    while (!(await isUp())) await sleep(POLL_MS);
  }
}

function progressed(seconds: number): string {
  return `growth runs=${String(begun)} versions=${String(submitted)} seconds=${seconds.toFixed(0)}`;
}

try {
  const keys = join(bed.folder, 'keys');
  await makeKeyFiles(keys);
  await cell.role('arbiter', ['--keys', keys]);
  await cell.role('hollow', ['--count', String(flags.hosts), '--keys', keys]);
  const kept = ['--runs-kept', String(flags['runs-kept']), '--history-kept', flags['history-kept']];
  const monitor = await cell.role('monitor', kept);
  await cell.role('scheduler', ['--kind', 'service'], 1);
  await cell.role('scheduler', ['--kind', 'batch'], 2);
  const client = new MonitorClient(http, { urls: [monitor.ready.address], from: 'the bench' });
  const samples = new Samples();
  const startMs = performance.now();
  const passing = Promise.all([passRuns(client), passVersions(client)]);
  let isOver = false;
  void passing.finally(() => (isOver = true)).catch(() => undefined);
  let toldMs = startMs;
  while (!isOver) {
    await again(() => sample(client, samples));
    if (performance.now() - toldMs >= TELL_MS) {
      toldMs += TELL_MS;
      process.stderr.write(`${progressed((toldMs - startMs) / 1_000)}\n`);
    }
    await Promise.race([sleep(flags['sample-s'] * 1_000), passing]);
  }
  await passing;
  const seconds = (performance.now() - startMs) / 1_000;
  console.log(
    `${progressed(seconds)} runs_per_second=${(begun / seconds).toFixed(0)} runs_kept=${String(flags['runs-kept'])}`,
  );
  samples.print();
  await check();
} finally {
  await http.close();
  await cell.processes.stopAll();
  await bed.close();
}

/** @throws Error when it finds a record that breaks a rule */
async function check(): Promise<void> {
  const own = await bed.secured?.certificates.issue('operator', 'checker');
  const args = ['check', '--cell', CELL, '--etcd', bed.etcd.clientUrl];
  const shown = own === undefined ? [] : ['--credentials', own];
  const { stdout } = await promisify(execFile)(process.execPath, [
    builtFile('cli/main.cjs'),
    ...args,
    ...shown,
  ]);
  console.log(`growth check=${stdout.trim().split('\n').at(-1) ?? ''}`);
}
