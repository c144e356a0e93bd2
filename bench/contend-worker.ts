import { EtcdCellStore } from '../src/adapters/etcd/cell-store.ts';
import { systemClock } from '../src/adapters/system/clock.ts';
import { systemRandom } from '../src/adapters/system/random.ts';
import { silentLog, silentMetrics } from '../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../src/core/keys.ts';
import type { Part } from '../schedulers/own-part.ts';
import { NO_SCALARS } from '../src/core/resources.ts';
import { makeWholePath } from './whole-commits.ts';

/**
 * One scheduler process of `contend`. It says `ready`, begins at the word, says `warm` when it has run for long enough to
 * be measured, goes on, is measured from the second word on, and reports.
 */
export interface WorkerOrder {
  readonly endpoints: readonly string[];
  readonly cell: string;
  readonly name: string;
  readonly hosts: number;
  readonly together: number;
  readonly inFlight: number;
  readonly seed: number;
  readonly seconds: number;
  /** What each lands before the time is taken. */
  readonly warmUp: number;
  /** What each placement takes of a pool of the whole cell; null: nothing. */
  readonly shared: Readonly<Record<string, number>> | null;
  /** null: it does not know of the others, and draws from all hosts. */
  readonly part: Part | null;
}

export interface WorkerReport {
  readonly committed: number;
  readonly rebased: number;
  readonly conflicted: number;
  readonly transactions: number;
  readonly refused: number;
  /** What landed while the time was taken, how long that was, and the CPU time that it took. */
  readonly counted: number;
  readonly seconds: number;
  readonly cpuUs: number;
  /** Of each plan, from its decision to its last outcome. */
  readonly durationsMs: readonly number[];
  /** Every allocation that was said to be committed. */
  readonly ids: readonly string[];
}

const order = JSON.parse(process.argv[2] ?? '') as WorkerOrder;
const store = new EtcdCellStore({ endpoints: order.endpoints, clock: systemClock, log: silentLog });
const ids: string[] = [];
const sums = { committed: 0, rebased: 0, conflicted: 0 };
const durationsMs: number[] = [];
let counting = false;
let counted = 0;
let warm = (): void => undefined;
const isWarm = new Promise<void>((resolve) => (warm = resolve));

const path = await makeWholePath({
  ...{ store, keys: cellKeys(order.cell), hosts: order.hosts, together: order.together },
  ...{ inFlight: order.inFlight, seed: order.seed, name: order.name },
  ...{ clock: systemClock, random: systemRandom, log: silentLog, metrics: silentMetrics },
  ...(order.part === null ? {} : { part: order.part }),
  ...(order.shared === null ? {} : { shared: order.shared }),
  resources: { cpuMilli: 100, memoryMib: 400, diskMib: 0, scalars: NO_SCALARS },
  onPlan: (end) => {
    sums.committed += end.committed.length;
    sums.rebased += end.rebased.length;
    sums.conflicted += end.conflicted.length;
    ids.push(...end.committed, ...end.rebased);
    if (ids.length >= order.warmUp) warm();
    if (!counting) return;
    counted += end.committed.length + end.rebased.length;
    durationsMs.push(end.durationMs);
  },
});

process.send?.('ready');
await theWord();

let over = false;
const writing = path.writeUntil(() => over);
await isWarm;
process.send?.('warm');
await theWord();
counting = true;
const cpu = process.cpuUsage();
const startMs = performance.now();
await delay(order.seconds * 1000);
counting = false;
const seconds = (performance.now() - startMs) / 1000;
const { user, system } = process.cpuUsage(cpu);
over = true;
await writing;

const { transactions, refused } = path.stats();
const report: WorkerReport = {
  ...sums,
  ...{ transactions, refused, counted, seconds, cpuUs: user + system, durationsMs, ids },
};
await path.close();
await store.close();
await new Promise((resolve) => process.send?.(report, resolve));
process.disconnect();

function theWord(): Promise<unknown> {
  return new Promise((resolve) => process.once('message', resolve));
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
