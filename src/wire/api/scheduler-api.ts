import type { Fits } from '../../core/placement/fits.ts';
import type { HostRefusal } from '../../core/placement/filters.ts';

export type { HostRefusal } from '../../core/placement/filters.ts';

/**
 * A scheduler's API, read-only: what it did and why, and what it would do.
 *
 *   GET /v1/status                     → SchedulerStatus
 *   GET /v1/jobs/:namespace/:job/why   → Why | 404 when it does not own the job
 *   POST /v1/plan                      → SchedulerPlan of `../plan/plan.ts`; 503 while many others wait
 *   GET /v1/events?unseen              → NDJSON of SchedulerEvent: the last ones kept, then as they happen; with
 *                                        `unseen=true` without `SEEN_IN_STORE`
 *   GET /livez /readyz /metrics
 */

export interface SchedulerStatus {
  readonly id: string;
  readonly kind: string;
  readonly policy: string;
  readonly jobsOwned: number;
  readonly pending: number;
  readonly decisions: number;
  /** Claims by how they ended; they add up to all that were submitted. */
  readonly committed: number;
  readonly rebased: number;
  readonly conflicted: number;
  /** Transactions that had to be read back. */
  readonly unknownResolved: number;
  readonly ticketsRefused: number;
  readonly startsRefused: number;
  /** Share of the time since start spent deciding, 0 to 1. */
  readonly busyFraction: number;
  readonly commitP50Ms: number | null;
  readonly commitP99Ms: number | null;
  /** Why commits wait: the store is full, or away; null: none waits. */
  readonly storeTrouble: string | null;
}

/** Why a job has allocations that do not run: the answer to `moorage why`. */
export interface Why {
  readonly namespace: string;
  readonly job: string;
  readonly scheduler: string;
  /** One line, the most important thing first. */
  readonly summary: string;
  readonly groups: readonly WhyGroup[];
}

/** Of a group of which all runs, and some waits for a budget of the cell to be moved. */
export const HELD_STAGE = 'held';

export interface WhyGroup {
  readonly group: string;
  readonly pending: number;
  readonly tries: number;
  readonly conflicts: number;
  /** When the next try is; null: after a change that could make it fit. */
  readonly nextTryMs: number | null;
  /** `parked`, `evicting`, `waiting-for-ticket`, `starting`, `running`, ... */
  readonly stage: string;
  readonly detail: string;
  /** One row a host, at most `EXPLAIN_HOSTS_MAX`; the nearest miss first. */
  readonly hosts: readonly HostRefusal[];
  readonly hostsTotal: number;
  /** How many hosts each check refused, commonest first. */
  readonly refusals: readonly { readonly check: string; readonly hosts: number }[];
  /** A gang starts whole. */
  readonly gang?: boolean;
  /** Absent: nothing waits, or each slot has a host of its own. */
  readonly fits?: Fits;
}

/** One act of a scheduler, for the event stream of the monitors. */
export interface SchedulerEvent {
  /** When the process began, by its own clock: distinguishes two lives of one scheduler. */
  readonly life: number;
  /** Grows by one with each event of this life. */
  readonly seq: number;
  readonly atMs: number;
  readonly scheduler: string;
  readonly kind: SchedulerEventKind;
  readonly namespace: string;
  readonly job: string;
  /** Absent for events about a whole job. */
  readonly allocation?: string;
  readonly slot?: string;
  readonly host?: string;
  /** A sentence for people: `lost host-2 to batch-1: cpu needed 2500, available 1000`. */
  readonly detail: string;
  /** Of `rebased` and `conflict`: the revision of the host's ledger that the commit had read. */
  readonly readRevision?: number;
  /** The one that the store had by then: that of the commit which came first. */
  readonly foundRevision?: number;
}

export const SCHEDULER_EVENT_KINDS = [
  'owned',
  'placed',
  'rebased',
  'conflict',
  'refused-ticket',
  'refused-host',
  'started',
  'stopping',
  'released',
  'rescheduled',
  'parked',
  'evicting',
  'finished',
] as const;
export type SchedulerEventKind = (typeof SCHEDULER_EVENT_KINDS)[number];

/** Events that the store's changes show as well, and earlier: a watcher of the store leaves them out. */
export const SEEN_IN_STORE: ReadonlySet<SchedulerEventKind> = new Set([
  'owned',
  'placed',
  'started',
  'stopping',
  'released',
]);
