/**
 * The state of a scheduler that all other rooms read and change: a `Term` is everything that belongs to one session
 * with the store.
 *
 * - `cell.ts`: the private copy of the cell: hosts, ledgers, eligibility, shared pools. Allocations are not part of it.
 * - `cell-secrets.ts`: secrets, sealed to the hosts.
 * - `owned-job.ts`: an owned job with its allocations (`Entry`) and the state of the search for each group.
 * - `job-table.ts`: all owned jobs, and the way from an allocation's id to its job.
 * - `stored-job.ts`: what the store holds of one job, as read when the job comes to this scheduler.
 * - `job-timers.ts`: what puts a job into the decision queue: a change, a time, a switch.
 * - `group-backoff.ts`: the delay of a group whose placements were refused.
 * - `decided-plan.ts`: what a decision hands to the commit.
 * - `owner-write.ts`: writes that hold only while the job is owned.
 * - `namespace-queues.ts`, `batches.ts`: queues by namespace, batches of requests.
 * - `events.ts`, `stats.ts`: what the API shows of the scheduler's work.
 */
import type { HostClient } from '../../src/clients/host-client.ts';
import { makeId } from '../../src/core/cell/ids.ts';
import { logIds } from '../../src/core/trace/trace.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { Eviction, LedgerRace, Plan, PlanOutcome } from '../../src/core/commit/plan.ts';
import type { LedgerBook } from '../../src/core/commit/ledger-book.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { SharedUse } from '../../src/core/cell/claim.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Digest } from '../../src/ports/crypto.ts';
import type { HttpClient } from '../../src/ports/http.ts';
import type { Random } from '../../src/ports/random.ts';
import type { Log, LogFields, Metrics, Tracer } from '../../src/ports/telemetry.ts';
import type { SchedulerEventKind } from '../../src/wire/api/scheduler-api.ts';
import type { HostCalls } from '../calls/calls.ts';
import type { SchedulerOptions } from '../policies/options.ts';
import type { PrivateCell } from './cell.ts';
import type { CellPauses } from '../../src/runtime/records/pauses.ts';
import type { SchedulerEvents } from './events.ts';
import type { Entry, OwnedJob } from './owned-job.ts';
import type { SchedulerStats } from './stats.ts';

/** What decisions read of the private cell: a copy of it will do (`plan/scratch-cell.ts`). */
export type DecidedCell = Pick<
  PrivateCell,
  'state' | 'condition' | 'eligibilityRevision' | 'matching' | 'syncLedger'
> & {
  readonly book: Pick<LedgerBook, 'get'>;
};

export interface SchedulerWorld {
  readonly store: CellStore;
  readonly keys: CellKeys;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly digest: Digest;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer;
}

/** After a fault of the store, before the job is read again. */
export const RELOAD_DELAY_MS = 1_000;

/** The share of the hosts in which this scheduler's searches begin: number `index` of `count`, from 0. */
export interface Partition {
  readonly index: number;
  readonly count: number;
}

/**
 * What the rooms share for as long as one session lasts. When `signal` is aborted the session is over: nothing may be
 * ordered or written any more, and all of this is dropped.
 */
export interface Term {
  readonly world: SchedulerWorld;
  readonly options: SchedulerOptions;
  readonly signal: AbortSignal;
  /** The cell's incarnation: the first half of every epoch. */
  readonly incarnation: string;
  readonly cell: DecidedCell;
  /** What operators have paused. */
  readonly pauses: Pick<CellPauses, 'on' | 'onHost' | 'endedAtMs'>;
  readonly hosts: HostClient;
  /** Every call to a host goes through here. */
  readonly hostCalls: Pick<HostCalls, 'order' | 'askFirst' | 'ask' | 'askNow' | 'isSilent'>;
  readonly stats: SchedulerStats;
  readonly events: SchedulerEvents;
  readonly partition: Partition;
  commit(plan: Plan): Promise<PlanOutcome>;
  /** Puts the job into the decision queue. */
  enqueue(job: OwnedJob): void;
  /** The same after a delay; an earlier timer of the job stays. */
  enqueueAfter(job: OwnedJob, delayMs: number): void;
  /** The store may hold more of the job than is known here: nothing is decided for it until it was read again. */
  reload(job: OwnedJob, delayMs?: number): void;
  /** A commit was refused because another scheduler owns the job. */
  ownershipLost(job: OwnedJob): void;
  /** The host, and the pools above it, may take more than before. */
  capacityFreed(host: string, shared?: SharedUse): void;
  /** A host refused a start: the next search begins at other hosts. */
  searchElsewhere(): void;
  /** A host's report of an allocation, from a stream or from an answer. */
  report(report: AllocationReport): void;
  /** The commit that preempts the victim is durable; the victim may belong to a job of this scheduler. */
  victimMarked(eviction: Eviction, revision: number): void;
  /** A victim's record is not as it was when it was chosen; it may belong to a job of this scheduler. */
  victimChanged(eviction: Eviction): void;
  /** The allocation is gone from the store. */
  dropEntry(job: OwnedJob, entry: Entry): void;
  /** @param race of its commit, for the ledger of the entry's host */
  emit(kind: SchedulerEventKind, job: OwnedJob, detail: string, entry?: Entry, race?: LedgerRace): void;
}

/** Takes back a placement that was only assumed. */
export function undoAssumed(term: Term, job: OwnedJob, entry: Entry): void {
  const { host, shared } = entry.allocation;
  term.cell.state.forget(entry.allocation);
  term.capacityFreed(host, shared);
  term.dropEntry(job, entry);
}

/** Does this scheduler still act for the allocation? */
export function isCurrent(term: Term, job: OwnedJob, entry: Entry): boolean {
  return !term.signal.aborted && !job.dropped && job.entries.get(entry.allocation.id) === entry;
}

/** What a line of the log about the job, or one of its allocations, says in every role. */
export function idsOf(job: OwnedJob, entry?: Pick<Entry, 'allocation'>): LogFields {
  const about = { namespace: job.namespace, job: job.name };
  const of = entry === undefined ? about : { ...about, id: entry.allocation.id };
  return { ...logIds(of, job.record.traceparent) };
}

/** An id for a plan, an allocation, an intent or an outcome. */
export function newId({ clock, random }: Pick<SchedulerWorld, 'clock' | 'random'>): string {
  return makeId(clock.nowMs(), random.bytes(16));
}

/** Wall-clock time in whole milliseconds, as records have it. */
export function wallMs({ clock }: Pick<SchedulerWorld, 'clock'>): number {
  return Math.floor(clock.nowMs());
}
