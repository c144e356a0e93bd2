import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import { BenchCell } from '../cell/cell.ts';
import { flagsOf } from '../testbed/flags.ts';
import { percentile } from '../testbed/percentile.ts';
import { startBed } from '../testbed/testbed.ts';

const { edges, levels } = flagsOf({
  /** How often the task is killed while the monitor reports it. */
  edges: 20,
  /** How often while the monitor is frozen: the scheduler's own look at its hosts finds it. */
  levels: 5,
});
const CELL = 'bench';
const POLL_MS = 2;
const LIMIT_MS = 60_000;
/** Nobody else on the machine sleeps for so long. */
const SECONDS = '86421';

/** The processes of the task. */
function running(): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => commandOf(pid) === `sleep\0${SECONDS}\0`)
    .map(Number);
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

async function another(than: number | undefined): Promise<number> {
  const untilMs = performance.now() + LIMIT_MS;
  for (;;) {
    const found = running().find((pid) => pid !== than);
    if (found !== undefined) return found;
    if (performance.now() > untilMs) throw new Error(`no other task within ${String(LIMIT_MS / 1_000)} s`);
    await sleep(POLL_MS);
  }
}

/** @returns from the death of the task until another one of its slot runs */
async function replacedMs(times: number): Promise<readonly number[]> {
  const took: number[] = [];
  for (let n = 0; n < times; n++) {
    const pid = await another(undefined);
    // Long enough for all to have heard of it.
    await sleep(1_000);
    const startMs = performance.now();
    process.kill(pid, 'SIGKILL');
    await another(pid);
    took.push(performance.now() - startMs);
  }
  return took;
}

function print(name: string, took: readonly number[]): void {
  const sorted = [...took].sort((a, b) => a - b);
  const at = (share: number): string => percentile(sorted, share).toFixed(0);
  console.log(
    `repair by=${name} times=${String(took.length)} ms_p50=${at(0.5)} ms_p99=${at(0.99)} ms_max=${at(1)}`,
  );
}

const bed = await startBed();
const cell = new BenchCell(bed, CELL);
const http = undiciClient({});
try {
  await cell.role('agent', ['--no-tickets', '--data', join(bed.folder, 'data')]);
  const monitor = await cell.role('monitor', []);
  await cell.role('scheduler', ['--kind', 'service', '--no-tickets']);
  const client = new MonitorClient(http, { urls: [monitor.ready.address], from: 'the bench' });
  await client.submit({
    ...{ name: 'web', type: 'service', command: ['sleep', SECONDS], restart: { attempts: 0 } },
    ...{ resources: { cpu: '10m', memory: '8Mi' }, reschedule: { delay: '0s', maxDelay: '0s' } },
  });
  print('edge', await replacedMs(edges));
  const took: number[] = [];
  for (let n = 0; n < levels; n++) {
    process.kill(monitor.pid, 'SIGSTOP');
    // A scheduler that still hears of it would be told.
    took.push(...(await replacedMs(1)));
    process.kill(monitor.pid, 'SIGCONT');
    await sleep(2_000);
  }
  print('level', took);
  await client.stop({ namespace: 'default', job: 'web' });
  while (running().length > 0) await sleep(POLL_MS);
} finally {
  await cell.processes.stopAll();
  await http.close();
  await bed.close();
}
