import type { Epoch } from './epoch.ts';
import type { Claim } from './claim.ts';
import type { PendingPreemption } from './intent.ts';

/** Which slot (job, group, index) something belongs to, and which attempt at it. */
export interface SlotAttempt {
  readonly namespace: string;
  readonly job: string;
  readonly jobVersion: number;
  readonly group: string;
  readonly index: number;
  /** 1, and one more after each reschedule. */
  readonly attempt: number;
  /** The scheduler instance whose plan it was. */
  readonly scheduler: string;
}

/**
 * One committed placement: the desired half of an allocation, as schedulers write it. What the host saw of it is an
 * `AllocationReport`. The id is never used again; the slot may be.
 */
export interface Allocation extends Claim, SlotAttempt {
  readonly desired: DesiredState;
  readonly planId: string;
  readonly epoch: Epoch;
  readonly createdAtMs: number;
  /** Why `desired` is not `run`: `stopped by user`, `evicted by ...`; absent while it runs. */
  readonly cause?: string;
  /** The allocation that held the slot before. */
  readonly replaces?: string;
  /** Allocations that must be released on the host before this one may start. */
  readonly evicts?: readonly string[];
  /** Member of a gang larger than one transaction: only reserved while this intent is in the store. */
  readonly intent?: string;
  /**
   * Of one such member on each host: the victims there whose preemption is pending until the intent ends, as
   * `namespace/job/id`. The process that ends the intent finds them by this list.
   */
  readonly displaces?: readonly string[];
  /** Of such a victim: it is marked `evict`, and runs on while the intent is in the store. */
  readonly yields?: PendingPreemption;
}

/**
 * `run` → `stop` (the host keeps the record) or `remove` (the record goes too). `evict` is a stop whose resources are
 * already given to another allocation.
 */
export const DESIRED_STATES = ['run', 'stop', 'remove', 'evict'] as const;
export type DesiredState = (typeof DESIRED_STATES)[number];

/** Plan id of an allocation that a restored store lacks, and that is recorded again from what its host reports. */
export function planOfAdopted({ id, scheduler }: Pick<Allocation, 'id' | 'scheduler'>): string {
  return `${id}-${scheduler}`;
}

/** Was it recorded again after the store was restored? */
export function isAdopted({ id, planId }: Pick<Allocation, 'id' | 'planId'>): boolean {
  return planId.startsWith(`${id}-`);
}

/** How one task, or an allocation as a whole, ended. Exactly one of `code`, `signal` and `lost` is set. */
export interface Exit {
  readonly code?: number;
  readonly signal?: string;
  /** Why neither is known: `host-reboot`, `shim-died`. */
  readonly lost?: string;
  /** Its host ended it, because this check for `alive` failed: which, and how. */
  readonly unhealthy?: string;
  /** How many of its processes the kernel killed at the memory limit; absent: none. */
  readonly oomKills?: number;
}

/** The final record of an allocation, written in the commit that releases it. */
export interface Outcome extends SlotAttempt {
  readonly allocation: string;
  readonly host: string;
  /** The observed state at the end: terminal. */
  readonly state: string;
  readonly exit?: Exit;
  readonly reason: string;
  /** Why a scheduler ended it (see `CAUSES` in job-view.ts); absent when it ended by itself. */
  readonly cause?: string;
  readonly startedAtMs?: number;
  readonly endedAtMs: number;
  readonly restarts: number;
}
