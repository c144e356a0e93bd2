import type { AgentOptions } from '../host-agent/main.ts';
import { runAgent } from '../host-agent/main.ts';
import { MemoryCellStore } from '../src/adapters/memory/cell-store.ts';
import { systemClock } from '../src/adapters/system/clock.ts';
import { silentLog } from '../src/adapters/telemetry/silent.ts';

/**
 * A host-agent in a process of its own, for what is measured on it and for what kills it. It says where it serves in one
 * line; asked for `usage` on its input, how long its event loop was busy so far.
 */
export interface WorkerReady {
  readonly address: string;
  readonly incarnation: number;
  /** From the start of the process until it served, its own loading included. */
  readonly readyMs: number;
  /** Of that, from the first line of its own code on. */
  readonly openMs: number;
}

export interface WorkerUsage {
  readonly busyMs: number;
  readonly cpuMs: number;
}

const [stateFolder = '', shim = '', more = '{}'] = process.argv.slice(2);
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
  capacity: { cpuMilli: 1_000_000, memoryMib: 1_000_000 },
  store: new MemoryCellStore({ clock: systemClock }),
  ...(shim === '' ? {} : { shim: { kind: 'native', path: shim } }),
  ...(JSON.parse(more) as Partial<AgentOptions>),
});
const ready: WorkerReady = {
  address: agent.address,
  incarnation: agent.incarnation,
  readyMs: performance.now(),
  openMs: performance.now() - startMs,
};
process.once('SIGTERM', () => void agent.stop().then(() => process.exit(0)));
process.stdin.on('data', () => {
  const { user, system } = process.cpuUsage();
  const usage: WorkerUsage = {
    busyMs: performance.eventLoopUtilization().active,
    cpuMs: (user + system) / 1000,
  };
  process.stdout.write(`${JSON.stringify(usage)}\n`);
});
// Whoever started it may be gone before it has said where it serves.
process.stdin.on('end', () => process.exit(0));
process.stdout.write(`${JSON.stringify(ready)}\n`);
