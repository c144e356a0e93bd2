import type { AgentOptions } from '../../host-agent/main.ts';
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { runAgent } from '../../host-agent/main.ts';
import { MemoryCellStore } from '../../src/adapters/memory/memory.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';

/**
 * A host-agent in a process of its own, for what is measured on it and for what kills it. It prints its address in one
 * line; asked for `usage` on its input, what it has used so far, and how long its event loop stood still since it was last
 * asked.
 */
export interface WorkerReady {
  readonly address: string;
  readonly incarnation: number;
  /** From the start of the process until it served, its own loading included. */
  readonly readyMs: number;
  /** Of that, from the first line of its own code on. */
  readonly openMs: number;
}

export interface WorkerOptions extends Partial<AgentOptions> {
  /** The user and group that it becomes once it has read its program. */
  readonly runAs?: number;
  /** Its folder of credentials; absent: it speaks plain. */
  readonly credentials?: string;
}

export interface WorkerUsage {
  /** The event loop did something, or waited for a processor to do it. */
  readonly busyMs: number;
  /** Of that, on the processor. */
  readonly loopCpuMs: number;
  /** Of all threads. */
  readonly cpuMs: number;
  /** By how much a timer came late, since the last time this was asked. */
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
}

const [stateFolder = '', shim = '', more = '{}'] = process.argv.slice(2);
const { runAs, credentials, ...options } = JSON.parse(more) as WorkerOptions;
if (runAs !== undefined) {
  process.setgroups?.([]);
  process.setgid?.(runAs);
  process.setuid?.(runAs);
}
const startMs = performance.now();
const agent = await runAgent({
  cell: 'bench',
  etcd: [],
  id: 'host-a',
  version: 'bench',
  listen: { host: '127.0.0.1', port: 0 },
  log: silentLog,
  stateFolder,
  requireTickets: false,
  store: new MemoryCellStore({ clock: systemClock }),
  ...(shim === '' ? {} : { shim: { kind: 'native', path: shim } }),
  ...(credentials === undefined ? {} : { reach: { credentials: openCredentials(credentials, null) } }),
  ...options,
});
const ready: WorkerReady = {
  address: agent.address,
  incarnation: agent.incarnation,
  readyMs: performance.now(),
  openMs: performance.now() - startMs,
};
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();

/** Of the thread that runs the event loop. */
function loopCpuMs(): number {
  const [ranNs = '0'] = readFileSync(`/proc/self/task/${String(process.pid)}/schedstat`, 'utf8').split(' ');
  return Number(ranNs) / 1e6;
}

process.once('SIGTERM', () => void agent.stop().then(() => process.exit(0)));
process.stdin.on('data', () => {
  const { user, system } = process.cpuUsage();
  const usage: WorkerUsage = {
    busyMs: performance.eventLoopUtilization().active,
    loopCpuMs: loopCpuMs(),
    cpuMs: (user + system) / 1000,
    delayP99Ms: delay.percentile(99) / 1e6,
    delayMaxMs: delay.max / 1e6,
  };
  delay.reset();
  process.stdout.write(`${JSON.stringify(usage)}\n`);
});
// The parent may be gone before the address is printed.
process.stdin.on('end', () => process.exit(0));
process.stdout.write(`${JSON.stringify(ready)}\n`);
