import { ORPHAN_MS } from '../../src/core/slots/given-up.ts';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { preemptionHosts } from '../../src/core/preemption/preemption.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { BINPACK } from '../../src/core/scoring/policy.ts';
import { place } from '../../src/core/placement/placement.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import { PrivateCell } from '../../schedulers/state/cell.ts';
import { requestFor } from '../testbed/large-cell.ts';
import { atRest } from './memory-report.ts';

/** A process of `memory` with a private cell: reads the whole cell, decides on it, and reports its memory. */
export interface MemoryOrder {
  readonly endpoints: readonly string[];
  readonly cell: string;
  readonly hosts: number;
  readonly seed: number;
}

/** Decisions of every kind, so that all tables which they need are there. */
const DECISIONS = 200;

const order = JSON.parse(process.argv[2] ?? '') as MemoryOrder;
const store = new EtcdCellStore({ endpoints: order.endpoints, clock: systemClock, log: silentLog });
const noListener = {
  onFreed: () => undefined,
  onCondition: () => undefined,
  onHost: () => undefined,
  onSharedFreed: () => undefined,
  pausedOn: () => null,
  mayWait: () => true,
};
const startMs = performance.now();
const cell = new PrivateCell(
  { store, keys: cellKeys(order.cell), log: silentLog, clock: systemClock },
  ORPHAN_MS,
  noListener,
);
await cell.ready;
const readyMs = performance.now() - startMs;
if (cell.state.size !== order.hosts) throw new Error(`${String(cell.state.size)} hosts were read`);

const random = seededRandom(order.seed);
const passed = new Set<string>();
for (let n = 0; n < DECISIONS; n++) {
  place(cell.state, requestFor(n), random, BINPACK);
  preemptionHosts(cell.state, { ...requestFor(n), precedence: 80 }, random, { most: 1, excluded: passed });
}

const report = await atRest(readyMs);
await new Promise((resolve) => process.send?.(report, resolve));
cell.close();
await store.close();
process.disconnect();
