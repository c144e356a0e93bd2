import type { Allocation } from '../../core/cell/allocation.ts';
import type { Epoch } from '../../core/cell/epoch.ts';
import type { RestartPolicy, Task } from '../../core/cell/job.ts';
import type { AllocationReport } from '../../core/host/report.ts';

/**
 * The host-agent's API.
 *
 *   PUT    /v1/allocations/:id            StartRequest  → 200 StartAnswer | 4xx/507 Problem
 *   POST   /v1/allocations/:id/stop       StopRequest   → 200 AllocationReport | 404 Problem
 *   DELETE /v1/allocations/:id?commandId= –             → 204 (also when it is not there) | 409 not yet released
 *   GET    /v1/allocations                –             → HostListing
 *   GET    /v1/allocations/:id            –             → AllocationReport | 404
 *   DELETE /v1/volumes/:namespace/:claim/:data?driver  – → 204 | 409 `volume-in-use`, `not-deleted`: the data of a volume, for good
 *   GET    /v1/reports?incarnation&seq    –             → NDJSON of HostReport; starts with `full` unless it can resume
 *   GET    /v1/allocations/:id/logs?task&stream&offset&follow
 *                                         –             → bytes from `offset`; header `x-offset` gives the true first one
 *   GET    /v1/usage                –             → HostUsage (usage-api.ts)
 *   POST   /v1/batch                      orders, each as above → NDJSON of their answers, each as soon as it is there
 *   GET    /livez /readyz /metrics
 */

export interface StartRequest {
  /** Chosen by the caller before the call; the same id again returns the saved answer. */
  readonly commandId: string;
  readonly allocation: Allocation;
  readonly launch: Launch;
  /** null: enforcement is off in this cell. */
  readonly ticket: string | null;
  /**
   * The secrets of its tasks by name, sealed to the hosts. The ticket names them and does not cover them: a host opens each
   * as the secret of that name in the allocation's namespace, or not at all.
   */
  readonly sealed?: Readonly<Record<string, string>>;
}

/** How to run the allocation. The ticket's command digest covers its canonical JSON. */
export interface Launch {
  readonly tasks: Readonly<Record<string, Task>>;
  readonly restart: RestartPolicy;
  readonly deadlineMs: number | null;
  /** As in the group. */
  readonly stopAfterDisconnectMs?: number;
  /** As in the group. */
  readonly shutdownDelayMs?: number;
}

export interface StartAnswer {
  readonly report: AllocationReport;
}

/** `code` of the Problem with which a host refuses a start. */
export const START_REFUSALS = [
  'ticket-missing',
  'ticket-invalid',
  'ticket-expired',
  'ticket-other-host',
  'ticket-other-request',
  'ticket-used',
  'epoch-old',
  'no-fit',
  'port-taken',
  'disk-full',
  'leaking',
  'not-allowed',
  'bad-request',
  'stopped',
] as const;
export type StartRefusal = (typeof START_REFUSALS)[number];

/**
 * Final for the allocation's id: the host never starts it, and a later copy of the order gets the same answer. Every other
 * refusal concerns the order alone, which any client may have sent: before the claim is released, the host must be ordered to
 * stop the allocation.
 */
export const FINAL_REFUSALS: ReadonlySet<string> = new Set<StartRefusal>([
  'epoch-old',
  'no-fit',
  'port-taken',
  'disk-full',
  'leaking',
  'not-allowed',
  'stopped',
]);

export interface StopRequest {
  readonly commandId: string;
  readonly epoch: Epoch;
  readonly mode: 'stop' | 'remove' | 'evict' | 'drain';
  readonly cause: string;
}

export interface HostListing {
  readonly host: string;
  readonly incarnation: number;
  readonly seq: number;
  readonly allocations: readonly AllocationReport[];
}

export const LOG_STREAMS = ['stdout', 'stderr'] as const;
export type LogStream = (typeof LOG_STREAMS)[number];

/** Header of a log answer: the offset of its first byte. Larger than asked for when older bytes were dropped. */
export const LOG_OFFSET_HEADER = 'x-offset';
