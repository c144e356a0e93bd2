import type { Allocation, Exit, Outcome } from '../../core/cell/allocation.ts';
import type { Eligibility, Host } from '../../core/host/host.ts';
import type { Job, JobRecord } from '../../core/cell/job.ts';
import type { RolloutRecord } from '../../core/cell/rollout.ts';
import type { AllocationReport } from '../../core/host/report.ts';
import type { Restarts } from '../../core/slots/restarts.ts';
import type { Resources } from '../../core/cell/resources.ts';
import type { Problem } from './problem.ts';
import type { SchedulerStatus } from './scheduler-api.ts';

/**
 * The monitor's API, the one that people use. Lists take `?namespace=`. Every answer has `x-revision`, of the last change of the
 * cell that it knows of, or that it made. A read with `x-min-revision` is answered when the monitor knows the cell up to there:
 * at once, after a moment, or 503 `behind` with `Retry-After`. So what one monitor has answered is true at the next one.
 *
 *   POST /v1/jobs                              a job file as JSON, short or canonical → SubmitAnswer
 *                                              `If-Match: <version>` guards; 409 when another version is there
 *   POST /v1/jobs/bulk                         a list of up to `BULK_JOBS_MAX` job files → BulkAnswer, 200 also when jobs
 *                                              are refused
 *   GET  /v1/jobs?namespace&limit&cursor       → JobListAnswer
 *   GET  /v1/jobs/:namespace/:job              → JobStatus
 *   GET  /v1/jobs/:namespace/:job/why          → Why
 *   POST /v1/jobs/:namespace/:job/stop         → JobSummary
 *   DELETE /v1/jobs/:namespace/:job            stops it, and deletes it with its versions and outcomes when its hosts have
 *                                              released everything → JobSummary; then 404
 *   POST /v1/jobs/:namespace/:job/rollout    RolloutRequest → JobSummary; 409 `no-rollout` when no update is under way
 *   POST /v1/jobs/:namespace/:job/undo       UndoRequest → SubmitAnswer: an earlier version's spec, as a new version
 *   POST /v1/jobs/:namespace/:job/scale      ScaleRequest → SubmitAnswer
 *   POST /v1/jobs/:namespace/:job/restart    → SubmitAnswer
 *   POST /v1/jobs/:namespace/:job/moves      MovesRequest (plan/plan.ts) → JobSummary
 *   GET  /v1/jobs/:namespace/:job/history    → HistoryAnswer
 *   POST /v1/runs                              a job file as JSON; header `Idempotency-Key` → RunAnswer
 *   GET  /v1/jobs/:namespace/:job/exit?waitMs  → RunExit (200), or 204 when it did not end within waitMs
 *   GET  /v1/jobs/:namespace/:job/logs?group&index&allocation&task&stream&offset&offsetOf&follow
 *                                              → bytes; waits for the start when `follow`; ends with the allocation.
 *                                              Headers `x-offset` (of the first byte), `x-allocation`, `x-task`. 204: it
 *                                              has not started yet, ask again. 410: the host no longer has it.
 *                                              `offset` counts the bytes of the allocation `offsetOf`: where the
 *                                              slot has a successor, that one's come from their beginning
 *   GET  /v1/allocations?namespace&job&host&limit&cursor → AllocationListAnswer
 *   GET  /v1/hosts?limit&cursor                → HostListAnswer
 *   GET  /v1/hosts/:host                       → HostStatus
 *                                              Lists come in a fixed order. With `limit` an answer has so many at most, and
 *                                              `next`, which is the `cursor` of the next page, unless it is the last one.
 *                                              What comes or goes meanwhile may be missed; nothing else is, or comes twice
 *   GET  /v1/usage?namespace&job               → CellUsage (usage-api.ts)
 *   POST /v1/hosts/:host/eligibility           EligibilityRequest → HostStatus; 409 `lost` while the host has a session.
 *                                              `ready`, and a drain of now, cancel what was planned
 *   POST /v1/hosts/:host/labels                LabelsRequest → HostStatus; kept when its agent starts anew
 *   DELETE /v1/hosts/:host?reason              gives a silent host up for good → HostStatus, as its allocations are
 *                                              released; then it is not listed any more. 409 while it reports
 *   GET  /v1/schedulers                        → { schedulers: SchedulerStatus[], unreachable: string[] }
 *   GET  /v1/events?since&follow&limit         → SSE or NDJSON (by Accept) of CellEvent. `since` is exclusive: an event id,
 *                                              `0` for all that is held, `now` (default) for none of it, a revision for
 *                                              what came after all of it: `now` begins after `x-revision`;
 *                                              `follow=false` ends after what is held. Kind `gap`: some were left out,
 *                                              or some may come twice. To resume at another monitor: `clients/event-cursor.ts`
 *   GET  /v1/reports                           → NDJSON of ReportFrame (report-frames.ts): this monitor's merged view as a
 *                                              source for another one
 *   GET  /v1/reports?hosts=own                 → what hosts say to this monitor itself, for other monitors
 *   GET  /v1/reports?jobs=<namespace>/<job>,… → what hosts report of these jobs now, in the same frames
 *   GET  /v1/schema/job.json                   JSON Schema 2020-12 of a job file, for editors
 *   GET  /livez /readyz /metrics /version
 */

export interface SubmitAnswer {
  readonly namespace: string;
  readonly name: string;
  readonly version: number;
  /** false: the same spec was there already, nothing changed. */
  readonly changed: boolean;
}

/** Jobs in one bulk submission; longer lists are sent in parts. */
export const BULK_JOBS_MAX = 1_000;
/** Job files are small; a thousand of the largest allowed ones are refused. */
export const BULK_BYTES_MAX = 4 * 1024 * 1024;

/** The result for each job of a bulk submission, in its order: as if it had been submitted alone. */
export interface BulkAnswer {
  readonly results: readonly BulkResult[];
}

export type BulkResult = SubmitAnswer | { readonly problem: Problem };

export interface JobSummary {
  readonly namespace: string;
  readonly name: string;
  readonly type: string;
  readonly precedence: number;
  readonly version: number;
  readonly desired: 'run' | 'stop';
  readonly owner: string | null;
  readonly submittedAtMs: number;
  readonly oneOff: boolean;
  /** It is deleted when nothing of it is placed any more. */
  readonly deleted?: true;
  readonly phase: JobPhase;
  /** When the last of it ended; of an ended job of which nothing is placed any more. */
  readonly endedAtMs?: number;
  readonly counts: AllocationCounts;
  /** Of all its slots. */
  readonly restarts: Restarts;
}

export const REVISION_HEADER = 'x-revision';
export const MIN_REVISION_HEADER = 'x-min-revision';

/** Of a log answer: which allocation, and which of its tasks, the bytes are of. */
export const LOG_ALLOCATION_HEADER = 'x-allocation';
export const LOG_TASK_HEADER = 'x-task';

/** `pending`: nothing placed · `running` · `complete`/`failed`: all ended, by the group's outcome · `stopped`. */
export const JOB_PHASES = ['pending', 'running', 'complete', 'failed', 'stopped'] as const;
export type JobPhase = (typeof JOB_PHASES)[number];

export interface AllocationCounts {
  /** What the job wants; for `system` jobs the number of hosts that match. */
  readonly desired: number;
  /** What it may grow to; absent: it does not. */
  readonly desiredMax?: number;
  readonly placed: number;
  readonly running: number;
  /** Running, and pass their health checks where they have some; absent from older monitors. */
  readonly ready?: number;
  readonly complete: number;
  readonly failed: number;
}

/** Rows of one page of a list. */
export const PAGE_ROWS_MAX = 10_000;

/** Of a list that was asked for with a limit. */
export interface ListPage {
  /** The cursor of the next page; absent: this is the last one. */
  readonly next?: string;
}

export interface JobListAnswer extends ListPage {
  readonly jobs: readonly JobSummary[];
  /** As in HostListAnswer: counts may be too low. */
  readonly incomplete: boolean;
}

export const ROLLOUT_ACTS = ['pause', 'resume', 'promote'] as const;
export type RolloutAct = (typeof ROLLOUT_ACTS)[number];

export interface RolloutRequest {
  readonly act: RolloutAct;
}

/** `version` absent: the last good one before the present one, or the one before where none is known. */
export interface UndoRequest {
  readonly version?: number;
}

/** `group` absent: the only one. */
export interface ScaleRequest {
  readonly group?: string;
  readonly count: number;
}

/** The newest first. */
export interface HistoryAnswer {
  readonly versions: readonly VersionStatus[];
}

export interface VersionStatus {
  readonly version: number;
  readonly submittedAtMs: number;
  readonly current: boolean;
  /** The last one of which all was up. */
  readonly good: boolean;
  /** The earlier version whose spec it is again. */
  readonly restores: number | null;
  readonly job: Job;
}

/** How far an update is, beside the status of its job. */
export interface RolloutStatus {
  /** As the job's owner recorded it; null: nothing is recorded. */
  readonly record: RolloutRecord | null;
  readonly paused: boolean;
  /** Allocations that are still to be replaced. */
  readonly outdated: number;
}

export interface JobStatus {
  readonly summary: JobSummary;
  readonly record: JobRecord;
  readonly allocations: readonly AllocationStatus[];
  readonly outcomes: readonly Outcome[];
  /** How far its update is; absent from older monitors. */
  readonly rollout?: RolloutStatus;
  /** Hosts that hold allocations of the job and do not report; absent from older monitors. */
  readonly silentHosts?: readonly SilentHost[];
  /** Since when the store does not answer this monitor, so that what is desired may be another thing by now; absent: it does. */
  readonly storeAwaySinceMs?: number;
  /** As in HostListAnswer: allocations may run of which this monitor has not heard; absent from older monitors. */
  readonly incomplete?: boolean;
}

/** A host that does not report or is lost, and what that means for the allocations of one job there. */
export interface SilentHost {
  readonly host: string;
  readonly allocations: number;
  readonly sinceMs: number | null;
  /** When it is declared lost unless it returns; null: it is lost, or its session is there. */
  readonly verdictAtMs: number | null;
  /** A sentence for people. */
  readonly detail: string;
}

/** Desired and observed, side by side. */
export interface AllocationStatus {
  readonly name: string;
  readonly allocation: Allocation;
  /** null: the host has not reported it yet. */
  readonly report: AllocationReport | null;
  /** Of its slot, on whichever hosts. */
  readonly restarts: Restarts;
  /** When the host last reported to this monitor; null: never. */
  readonly asOfMs: number | null;
  readonly stale: boolean;
}

export interface AllocationListAnswer extends ListPage {
  readonly allocations: readonly AllocationStatus[];
  readonly incomplete: boolean;
}

export interface RunAnswer {
  readonly namespace: string;
  readonly job: string;
  /** false: this idempotency key had already made the run. */
  readonly created: boolean;
}

export interface RunExit {
  readonly state: string;
  readonly exit: Exit | null;
  readonly reason: string;
  readonly host: string | null;
  readonly allocation: string | null;
}

export interface HostStatus {
  readonly host: Host;
  readonly eligibility: Eligibility | null;
  readonly used: Resources;
  readonly gpuUsedMilli: number;
  readonly allocations: number;
  /** The host's session in the store is there. */
  readonly alive: boolean;
  readonly asOfMs: number | null;
  /** Since when the host is silent; null: it reports. */
  readonly staleSinceMs: number | null;
  /** When it is declared lost unless it returns; absent: its session is there, or it is lost. */
  readonly verdictAtMs?: number;
}

export interface HostListAnswer extends ListPage {
  readonly hosts: readonly HostStatus[];
  /** true: some known host has neither reported nor timed out since this monitor started. */
  readonly incomplete: boolean;
}

/** Labels of a host, which constraints find as `host.NAME`, and go before its agent's attributes. */
export interface LabelsRequest {
  readonly set?: Readonly<Record<string, string>>;
  /** Names of labels; what its agent says of itself counts again. */
  readonly remove?: readonly string[];
}

/** An operator's word that a lost host runs no more what was placed there. */
export interface FenceRequest {
  /** Whose word it takes the place of; jobs name it in `disconnect.fence`. */
  readonly fence: string;
  readonly reason: string;
}

/** `lost`: an operator's word for a host without a session, instead of the monitors' verdict. */
export interface EligibilityRequest {
  readonly state: 'ready' | 'cordoned' | 'draining' | 'lost';
  readonly reason: string;
  /** Of a drain: how long from its begin its allocations may take to go. */
  readonly deadlineMs?: number;
  /** Of a drain: when it begins, on the wall clock; the host stays as it is until then. Absent: now. */
  readonly atMs?: number;
  /** Of a drain: from its begin until the host is ready again by itself. Absent: until somebody says so. */
  readonly forMs?: number;
}

export interface CellEvent {
  /**
   * `<revision>.<n>` for a change of the store (`event-position.ts`); `<role>:<seq>` for an event of a role, such as what a
   * monitor found in a new listing.
   */
  readonly id: string;
  readonly atMs: number;
  /** `job-submitted`, `placed`, `conflict`, `running`, `complete`, `host-joined`, ... */
  readonly kind: string;
  /** The actor: a scheduler, a host, `api`. */
  readonly source: string;
  readonly namespace?: string;
  readonly job?: string;
  readonly allocation?: string;
  readonly slot?: string;
  readonly host?: string;
  readonly detail: string;
  /** Of `rebased` and `conflict`: the revision of the host's ledger that the commit had read. */
  readonly readRevision?: number;
  /** The one that the store had by then: that of the commit which came first. */
  readonly foundRevision?: number;
  /** Of `gap`, when the reader was too slow: how many events of each kind were left out. */
  readonly missed?: Readonly<Record<string, number>>;
}

export type SchedulerListAnswer = {
  readonly schedulers: readonly SchedulerStatus[];
  readonly unreachable: readonly string[];
};

export interface VersionAnswer {
  readonly version: string;
  readonly role: string;
  readonly id: string;
  readonly startedAtMs: number;
}
