import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { makeKeyFiles } from '../../src/adapters/tickets/key-files.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { RunningProcess } from '../../cli/local-cell/processes.ts';
import { flagsOf } from '../testbed/flags.ts';
import { isLate } from '../testbed/late.ts';
import { readMetrics } from '../testbed/metrics.ts';
import { startBed } from '../testbed/testbed.ts';
import { BenchCell } from './cell.ts';

/**
 * What a monitor of many hosts costs: reports a second and its processor time for each while tasks start on all of them, its share of a processor
 * and that of the hosts while nothing happens, its memory, and how long a monitor that is started anew takes until it knows every host
 * and allocation, alone or beside others. Hosts are hollow, several thousand in a process; everything is on one machine.
 */
const flags = flagsOf({
  hosts: 10_000,
  allocations: 100_000,
  /** With all of 10,000 in one, its collector of garbage is what the start of a monitor waits for. */
  'hosts-a-process': 2_500,
  /** What follows the last start, such as the deletion of orders that are done, is over by then. */
  'rest-s': 60,
  /** Nothing happens for so long. */
  'idle-s': 30,
  /** They share the hosts. One of them is started anew. */
  monitors: 1,
  timeout: 900,
});
const { hosts, allocations } = flags;
const CELL = 'bench';
const EACH = 1_000;
const HOSTS_EACH = flags['hosts-a-process'];
const POLL_MS = 100;
const deadlineMs = performance.now() + flags.timeout * 1_000;

const bed = await startBed({ secured: CELL });
const cell = new BenchCell(bed, CELL);
const http = undiciClient({ credentials: bed.secured?.credentials });

/** A monitor that is busy with all hosts may not answer in time. */
async function metricsOf(monitor: RunningProcess): Promise<ReadonlyMap<string, number>> {
  try {
    return await readMetrics(http, monitor.ready.address);
  } catch (error) {
    if (isLate(error)) return new Map();
    throw error;
  }
}

/** Others have taken over what a monitor that ended had followed. */
async function untilAllFollowed(monitors: readonly RunningProcess[]): Promise<void> {
  for (;;) {
    let followed = 0;
    for (const monitor of monitors)
      followed += (await metricsOf(monitor)).get('moorage_monitor_followed_hosts') ?? 0;
    if (followed >= hosts) return;
    if (performance.now() > deadlineMs)
      throw new Error(`only ${String(followed)} hosts were followed in time`);
    await sleep(POLL_MS);
  }
}

async function untilKnown(monitor: RunningProcess, reported: number): Promise<void> {
  for (;;) {
    const metrics = await metricsOf(monitor);
    const isComplete = metrics.get('moorage_monitor_view_complete') === 1;
    const known = metrics.get('moorage_monitor_reported_allocations') ?? 0;
    if (isComplete && metrics.get('moorage_monitor_hosts') === hosts && known >= reported) return;
    if (performance.now() > deadlineMs)
      throw new Error(`only ${String(known)} allocations were reported in time`);
    await sleep(POLL_MS);
  }
}

/** Messages from hosts that say something. */
async function reportsOf(monitor: RunningProcess): Promise<number> {
  let reports = 0;
  for (const [name, value] of await metricsOf(monitor))
    if (name.startsWith('moorage_monitor_reports_total') && !name.includes('beat')) reports += value;
  return reports;
}

function memoryMib({ pid }: RunningProcess): number {
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}

/** Of one processor, by all processes of the role. */
function shareOf(role: string, before: ReadonlyMap<string, number>, seconds: number): string {
  let used = 0;
  for (const [name, now] of cell.cpuSeconds())
    if (name.startsWith(role)) used += now - (before.get(name) ?? 0);
  return (used / seconds).toFixed(3);
}

async function submitServices(client: MonitorClient): Promise<void> {
  const files = Array.from({ length: Math.ceil(allocations / EACH) }, (_, n) => ({
    ...{ name: `service-${String(n)}`, type: 'service', count: Math.min(EACH, allocations - n * EACH) },
    ...{ command: ['hollow'], resources: { cpu: '10m', memory: '8Mi' } },
  }));
  for (const result of (await client.submitMany(files, { timeoutMs: 60_000 })).results)
    if ('problem' in result) throw new Error(`a job was refused: ${result.problem.detail}`);
}

try {
  const keys = join(bed.folder, 'keys');
  await makeKeyFiles(keys);
  await cell.role('arbiter', ['--keys', keys]);
  for (let part = 0; part * HOSTS_EACH < hosts; part++) {
    const count = Math.min(HOSTS_EACH, hosts - part * HOSTS_EACH);
    await cell.role('hollow', ['--count', String(count), '--keys', keys], part + 1);
  }
  const monitor = await cell.role('monitor', []);
  const others: RunningProcess[] = [];
  for (let number = 2; number <= flags.monitors; number++)
    others.push(await cell.role('monitor', [], number));
  await cell.role('scheduler', ['--kind', 'service']);
  await untilKnown(monitor, 0);
  const startMs = performance.now();
  const startCpu = cell.cpuSeconds();
  const startReports = await reportsOf(monitor);
  const client = new MonitorClient(http, { urls: [monitor.ready.address], from: 'the bench' });
  await submitServices(client);
  await untilKnown(monitor, allocations);
  const runningS = (performance.now() - startMs) / 1_000;
  const reports = (await reportsOf(monitor)) - startReports;
  const monitorUs = ((cell.cpuSeconds().get('monitor') ?? 0) - (startCpu.get('monitor') ?? 0)) * 1e6;
  console.log(
    `monitor hosts=${String(hosts)} allocations=${String(allocations)} running_s=${runningS.toFixed(1)} reports=${String(reports)}` +
      ` reports_per_second=${(reports / runningS).toFixed(0)} monitor_cpu_us_each=${(monitorUs / reports).toFixed(0)}`,
  );
  await sleep(flags['rest-s'] * 1_000);
  const idleMs = performance.now();
  const idleCpu = cell.cpuSeconds();
  await sleep(flags['idle-s'] * 1_000);
  const seconds = (performance.now() - idleMs) / 1_000;
  console.log(
    `monitor idle cpu=(monitor:${shareOf('monitor', idleCpu, seconds)} hollow:${shareOf('hollow', idleCpu, seconds)} etcd:${shareOf('etcd', idleCpu, seconds)}` +
      ` scheduler:${shareOf('scheduler', idleCpu, seconds)} arbiter:${shareOf('arbiter', idleCpu, seconds)})` +
      ` host_silence_s=${String((await metricsOf(monitor)).get('moorage_monitor_host_silence_seconds'))} memory_mib=${String(memoryMib(monitor))}`,
  );
  await monitor.stop();
  if (others.length > 0) await untilAllFollowed(others);
  const againMs = performance.now();
  const anew = await cell.role('monitor', [], flags.monitors + 1);
  const upS = (performance.now() - againMs) / 1_000;
  await untilKnown(anew, allocations);
  const completeS = (performance.now() - againMs) / 1_000;
  console.log(
    `monitor restart others=${String(others.length)} up_s=${upS.toFixed(1)} complete_s=${completeS.toFixed(1)} memory_mib=${String(memoryMib(anew))}`,
  );
} finally {
  await http.close();
  await cell.processes.stopAll();
  await bed.close();
}
