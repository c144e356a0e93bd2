import { once } from 'node:events';
import { runScheduler } from '../../schedulers/main.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { atRest } from './memory-report.ts';

/** The whole scheduler of `memory`: as `moorage scheduler` starts it, until its parent has sent it all reports. */
export interface SchedulerMemoryOrder {
  readonly endpoints: readonly string[];
  readonly cell: string;
}

const order = JSON.parse(process.argv[2] ?? '') as SchedulerMemoryOrder;
const startMs = performance.now();
const scheduler = await runScheduler({
  ...{ id: 'bench', kind: 'batch', cell: order.cell, etcd: order.endpoints, enforcement: false },
  listen: { host: '127.0.0.1', port: 0 },
  log: silentLog,
});
await once(process, 'message');
const report = await atRest(performance.now() - startMs);
await new Promise((resolve) => process.send?.(report, resolve));
await scheduler.stop();
process.disconnect();
