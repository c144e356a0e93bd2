import type { Epoch } from './epoch.ts';
import type { Claim } from './claim.ts';
import type { Yield } from '../commit/pending-preemption.ts';

/**
 * One committed placement: the desired half of an allocation, as schedulers write it. What the host saw of it is an
 * `AllocationReport`. The id is never used again; the slot (job, group, index) may be.
 */
export interface Allocation extends Claim {
  readonly namespace: string;
  readonly job: string;
  readonly jobVersion: number;
  readonly group: string;
  readonly index: number;
  /** Which attempt at this slot: 1, and one more after each reschedule. */
  readonly attempt: number;
  /** The scheduler instance whose plan it was. */
  readonly scheduler: string;
  readonly desired: DesiredState;
  readonly planId: string;
  readonly epoch: Epoch;
  readonly createdAtMs: number;
  /** Why `desired` is not `run`: `stopped by user`, `evicted by ...`; absent while it runs. */
  readonly cause?: string;
  /** The allocation whose slot this one fills anew. */
  readonly replaces?: string;
  /** Allocations that must be released on the host before this one may start. */
  readonly evicts?: readonly string[];
  /** Of a gang larger than one transaction: while the intent lies in the store, the allocation is only reserved. */
  readonly intent?: string;
  /** Of such a member: all who yield to the gang's members on its host, as `namespace/job/id`. One member a host has it. */
  readonly displaces?: readonly string[];
  /** While that intent lies in the store, this one runs on, though it is marked `evict`. */
  readonly yields?: Yield;
}

/**
 * `run` → `stop` (keep the record on the host) or `remove` (the record goes too); `evict` is a stop whose place is
 * already given to another.
 */
export const DESIRED_STATES = ['run', 'stop', 'remove', 'evict'] as const;
export type DesiredState = (typeof DESIRED_STATES)[number];

/** The plan of an allocation that a restored store did not hold, and that comes back from its host under its own id. */
export function planOfTakenUp({ id, scheduler }: Pick<Allocation, 'id' | 'scheduler'>): string {
  return `${id}-${scheduler}`;
}

/** Did it come back from its host after the store was restored? */
export function isTakenUp({ id, planId }: Pick<Allocation, 'id' | 'planId'>): boolean {
  return planId.startsWith(`${id}-`);
}

/** How one task, or an allocation as a whole, ended. Exactly one of `code`, `signal` and `lost` is set. */
export interface Exit {
  readonly code?: number;
  readonly signal?: string;
  /** Why nobody knows: `host-reboot`, `shim-died`. */
  readonly lost?: string;
  /** Processes of it that the kernel killed because it had reached its memory limit; absent: none. */
  readonly oomKills?: number;
}

/** The final record of an allocation, written in the commit that releases it. */
export interface Outcome {
  readonly allocation: string;
  readonly namespace: string;
  readonly job: string;
  readonly jobVersion: number;
  readonly group: string;
  readonly index: number;
  readonly attempt: number;
  readonly host: string;
  readonly scheduler: string;
  /** The observed state at the end: terminal. */
  readonly state: string;
  readonly exit?: Exit;
  readonly reason: string;
  /** Why it was made to end by somebody else (see `CAUSES` in slot-view.ts); absent when it ended by itself. */
  readonly cause?: string;
  readonly startedAtMs?: number;
  readonly endedAtMs: number;
  readonly restarts: number;
}
