import type { Exit, SlotAttempt } from '../cell/allocation.ts';
import type { Claim } from '../cell/claim.ts';
import type { ObservedState } from './states.ts';

/** What a host saw of one allocation: the observed half. Enough to rebuild the cell's state from hosts alone. */
export interface AllocationReport extends Claim, SlotAttempt {
  readonly state: ObservedState;
  /** Processes gone, ports and all else confirmed free: a separate fact, later than any terminal state. */
  readonly released: boolean;
  /** Why the state is what it is, for people. */
  readonly reason: string;
  readonly exit?: Exit;
  /** IP addresses that the host leases to it alone; absent: none. */
  readonly addresses?: readonly string[];
  /** Starts on this host beyond the first. */
  readonly restarts: number;
  readonly startedAtMs?: number;
  readonly endedAtMs?: number;
  readonly tasks: Readonly<Record<string, TaskReport>>;
}

export interface TaskReport {
  readonly state: ObservedState;
  readonly pid?: number;
  /** Of the last attempt: it ended for good, or waits to be started again. */
  readonly exit?: Exit;
  readonly restarts: number;
  /** When the attempt that runs now began, by the host's clock. */
  readonly startedAtMs?: number;
  /** Of a task that runs and has checks: do all of them pass? Absent: it counts as ready as soon as it runs. */
  readonly ready?: boolean;
  /** By name; absent as `ready`. */
  readonly checks?: Readonly<Record<string, CheckReport>>;
  /** How the attempt before that one ended; absent: it is the first, or nothing is known of it any more. */
  readonly lastExit?: Exit;
}

/** What a health check has found, as of its last change. */
export interface CheckReport {
  readonly state: CheckState;
  /** By the host's clock. */
  readonly sinceMs: number;
  /** What the last try that counted for it found, for people; empty before the first one. */
  readonly detail: string;
}

/** `waiting`: it has neither passed nor failed yet. */
export const CHECK_STATES = ['waiting', 'passing', 'failing'] as const;
export type CheckState = (typeof CHECK_STATES)[number];

/**
 * One message of a host's report stream. (incarnation, seq) orders all messages of a host: the incarnation grows with
 * every start of the agent, the sequence within it.
 *
 * `full` replaces all that was known of the host. `change` is one allocation. `gone`: the host deleted a removed record.
 * `beat`: the host is alive and has nothing newer than `seq`; `atMs` is its clock as it says so, if it comes from itself.
 */
export type HostReport = HostReportHead &
  (
    | { readonly kind: 'full'; readonly allocations: readonly AllocationReport[] }
    | { readonly kind: 'change'; readonly allocation: AllocationReport }
    | { readonly kind: 'gone'; readonly id: string }
    | { readonly kind: 'beat'; readonly atMs?: number }
  );

export interface HostReportHead {
  readonly host: string;
  readonly incarnation: number;
  readonly seq: number;
}
