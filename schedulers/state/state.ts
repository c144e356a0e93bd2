import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { Eviction, Plan, PlanOutcome } from '../../src/core/commit/plan.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { SharedUse } from '../../src/core/cell/claim.ts';
import type { HostClient } from '../../src/clients/host-client.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Digest } from '../../src/ports/crypto.ts';
import type { HttpClient } from '../../src/ports/http.ts';
import type { Random } from '../../src/ports/random.ts';
import type { Log, Metrics } from '../../src/ports/telemetry.ts';
import type { PrivateCell } from './cell.ts';
import type { SchedulerEvents } from './events.ts';
import type { HostCalls } from '../calls/calls.ts';
import type { SchedulerOptions } from '../policies/options.ts';
import type { Part } from '../decide/partition.ts';
import type { Entry, OwnedJob } from './owned-job.ts';
import type { SchedulerStats } from './stats.ts';
import type { SchedulerEventKind } from '../../src/wire/api/scheduler-api.ts';

/** The world as a scheduler sees it. */
export interface SchedulerWorld {
  readonly store: CellStore;
  readonly keys: CellKeys;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly digest: Digest;
}

/**
 * What the parts of a scheduler share for as long as one session lasts. When `signal` is aborted the session is over:
 * nothing may be ordered or written any more, and all of this is dropped.
 */
export interface Term {
  readonly world: SchedulerWorld;
  readonly options: SchedulerOptions;
  readonly signal: AbortSignal;
  /** The cell's incarnation: the first half of every epoch. */
  readonly incarnation: string;
  readonly cell: PrivateCell;
  readonly hosts: HostClient;
  /** Every call to a host goes through here. */
  readonly hostCalls: Pick<HostCalls, 'order' | 'askFirst' | 'ask' | 'askNow' | 'isSilent'>;
  readonly stats: SchedulerStats;
  readonly events: SchedulerEvents;
  /** Where this scheduler begins to look for hosts. */
  readonly ownPart: Part;
  commit(plan: Plan): Promise<PlanOutcome>;
  /** The job's turn will come. */
  look(job: OwnedJob): void;
  /** The same, not before then. */
  lookAfter(job: OwnedJob, delayMs: number): void;
  /** The store may hold what we do not know of: decide nothing for the job until it was read again. */
  reload(job: OwnedJob, delayMs?: number): void;
  /** A commit said that the job is another's. */
  lose(job: OwnedJob): void;
  /** The host, and the pools above it, may take more than they did a moment ago. */
  room(host: string, shared?: SharedUse): void;
  /** A host refused a start: the next search begins elsewhere. */
  moveOn(): void;
  /** Something said about an allocation, by whichever way it came. */
  report(report: AllocationReport): void;
  /** The commit that makes the victim give way is durable; it may be one of ours. */
  evicted(eviction: Eviction, revision: number): void;
  /** The entry is gone from the store: out of memory with it. */
  dropEntry(job: OwnedJob, entry: Entry): void;
  say(kind: SchedulerEventKind, job: OwnedJob, detail: string, entry?: Entry): void;
}

/** Is the entry still ours to act on? */
export function isCurrent(term: Term, job: OwnedJob, entry: Entry): boolean {
  return !term.signal.aborted && !job.dropped && job.entries.get(entry.allocation.id) === entry;
}
