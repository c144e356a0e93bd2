import { setTimeout as sleep } from 'node:timers/promises';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { systemClock, systemRandom } from '../../src/adapters/system/system.ts';
import { silentLog, silentMetrics } from '../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { Partition } from '../../schedulers/state/state.ts';
import { NO_SCALARS } from '../../src/core/cell/resources.ts';
import type { WriterOptions } from './raw-commits.ts';
import { makeWholePath } from './whole-commits.ts';

/**
 * One scheduler process of `contend`. It sends `ready`, then obeys:
 *
 * - `go`: places and commits; the first time it sends `warm` as soon as it has landed `warmUp` placements.
 * - `measure`: measures for `seconds`, stops, waits for what is under way, and sends the slice.
 * - `rest`: stops and waits for what is under way, and sends `rested`.
 * - `end`: sends the report and exits.
 */
export interface WorkerOrder extends WorkerSizes {
  readonly endpoints: readonly string[];
  readonly cell: string;
  readonly name: string;
  /** What each placement takes of a pool of the whole cell; null: nothing. */
  readonly shared: Readonly<Record<string, number>> | null;
  /** null: it does not know of the other processes, and draws from all hosts. */
  readonly part: Partition | null;
}

export interface WorkerSizes extends Omit<WriterOptions, 'keys'> {
  /** How long each slice is measured. */
  readonly seconds: number;
  /** Placements that each process lands before it is measured for the first time. */
  readonly warmUp: number;
}

export type WorkerCommand = 'go' | 'measure' | 'rest' | 'end';

/** What was done in one slice. */
export interface SliceReport {
  readonly counted: number;
  readonly seconds: number;
  /** CPU time of the process, its compiler and garbage collector included. */
  readonly cpuUs: number;
  /** Of each plan, from its decision to its last outcome. */
  readonly durationsMs: readonly number[];
  /** All that landed since the last rest, measured or not. */
  readonly landed: number;
}

export interface WorkerReport {
  readonly rebased: number;
  readonly conflicted: number;
  readonly transactions: number;
  readonly refused: number;
  /** Every allocation that was reported as committed. */
  readonly ids: readonly string[];
}

export type WorkerMessage =
  | { readonly kind: 'ready' | 'warm' | 'rested' }
  | { readonly kind: 'slice'; readonly slice: SliceReport }
  | { readonly kind: 'report'; readonly report: WorkerReport };

const order = JSON.parse(process.argv[2] ?? '') as WorkerOrder;
const store = new EtcdCellStore({ endpoints: order.endpoints, clock: systemClock, log: silentLog });
const ids: string[] = [];
const sums = { rebased: 0, conflicted: 0 };
let slice: { counted: number; durationsMs: number[] } | null = null;
let isWarm = false;
let landedBefore = 0;
let over = true;
let writing: Promise<void> = Promise.resolve();
/** Without its parent it would go on for ever. */
const orphaned = (): never => process.exit(1);
process.on('disconnect', orphaned);

const path = await makeWholePath({
  ...{ store, keys: cellKeys(order.cell), hosts: order.hosts, together: order.together },
  ...{ inFlight: order.inFlight, seed: order.seed, name: order.name },
  ...{ clock: systemClock, random: systemRandom, log: silentLog, metrics: silentMetrics },
  ...(order.part === null ? {} : { part: order.part }),
  ...(order.shared === null ? {} : { shared: order.shared }),
  resources: { cpuMilli: 100, memoryMib: 400, diskMib: 0, scalars: NO_SCALARS },
  onPlan: (end) => {
    sums.rebased += end.rebased.length;
    sums.conflicted += end.conflicted.length;
    for (const id of end.committed) ids.push(id);
    for (const id of end.rebased) ids.push(id);
    if (!isWarm && ids.length >= order.warmUp) {
      isWarm = true;
      void send({ kind: 'warm' });
    }
    if (slice === null) return;
    slice.counted += end.committed.length + end.rebased.length;
    slice.durationsMs.push(end.durationMs);
  },
});

const COMMANDS: Readonly<Record<WorkerCommand, () => unknown>> = {
  go: () => {
    over = false;
    landedBefore = ids.length;
    writing = path.writeUntil(() => over);
  },
  measure: async () => {
    const measured = await measure();
    await rest();
    await send({ kind: 'slice', slice: { ...measured, landed: ids.length - landedBefore } });
  },
  rest: async () => {
    await rest();
    await send({ kind: 'rested' });
  },
  end: async () => {
    const { transactions, refused } = path.stats();
    await path.close();
    await store.close();
    await send({ kind: 'report', report: { ...sums, transactions, refused, ids } });
    process.off('disconnect', orphaned);
    process.disconnect();
  },
};
process.on('message', (command: WorkerCommand) => void COMMANDS[command]());
await send({ kind: 'ready' });

async function measure(): Promise<Omit<SliceReport, 'landed'>> {
  const taken = { counted: 0, durationsMs: [] as number[] };
  slice = taken;
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  await sleep(order.seconds * 1000);
  slice = null;
  const seconds = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { ...taken, seconds, cpuUs: user + system };
}

async function rest(): Promise<void> {
  over = true;
  await writing;
}

function send(message: WorkerMessage): Promise<unknown> {
  return new Promise((resolve) => process.send?.(message, resolve));
}
