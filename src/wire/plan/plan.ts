/**
 * What would be decided if something changed; nothing is written, assumed or ordered, and no ticket is asked for.
 *
 *   POST /v1/plan   to a monitor: PlanRequest → PlanAnswer
 *   POST /v1/plan   to a scheduler: SchedulerPlanRequest → SchedulerPlan
 *
 *   POST /v1/jobs/:namespace/:job/moves   to a monitor: MovesRequest → JobSummary; this one is carried out
 *
 * A monitor asks the scheduler that would decide, and then the owners of what that one would preempt.
 *
 * - `plan.ts` (this file): requests and answers
 * - `plan-requests.ts`: how a route reads a request
 */
import type { Claim } from '../../core/cell/claim.ts';
import type { Host } from '../../core/host/host.ts';
import type { Dimension } from '../../core/quota/amounts.ts';
import type { JobRecord } from '../../core/cell/job.ts';
import type { JobPhase } from '../api/monitor-api.ts';

/** What would change. Exactly one of them. */
export interface PlanRequest {
  /** A job file as `POST /v1/jobs` takes it. */
  readonly submit?: unknown;
  readonly hostsLost?: readonly string[];
  readonly hostsAdded?: { readonly count: number; readonly like: string };
  /** Which moves would make the cell better, so many at most. */
  readonly rebalance?: RebalanceWish;
}

export interface RebalanceWish {
  readonly budget: number;
}

/** Acts of all jobs in one answer; the rest is counted in `actsLeftOut`. */
export const PLAN_ACTS_MAX = 10_000;

/** Allocations of one job that are to run on other hosts, in turn, by the rules of its updates. */
export interface MovesRequest {
  readonly moves: readonly WantedMove[];
  readonly reason: string;
}

export interface WantedMove {
  readonly allocation: string;
  /** Absent: its scheduler chooses another host. */
  readonly to?: string;
}

export interface PlanAnswer {
  /** Jobs that would be decided otherwise, in the order of decision; of namespaces that the caller sees. */
  readonly jobs: readonly JobPlan[];
  /** The version that the submission replaces; null: it makes a new job. Absent: nothing is submitted. */
  readonly versionBefore?: number | null;
  /** Jobs of other namespaces that would be decided otherwise. */
  readonly jobsHidden: number;
  /** Schedulers that did not say what they would do, and jobs without a scheduler, for people. */
  readonly unanswered: readonly string[];
  /** The search was ended before all was decided. */
  readonly isCut: boolean;
  /** Quotas that it goes beyond: what is beyond them waits for tickets. Absent: none. */
  readonly quotas?: readonly PlanQuota[];
  /** What a rebalance would move, the best first of each scheduler; of namespaces that the caller sees. Absent: none was asked for. */
  readonly moves?: readonly PlanMove[];
  readonly movesHidden?: number;
}

export interface PlanQuota {
  readonly namespace: string;
  readonly dimension: Dimension;
  readonly limit: number;
  readonly used: number;
  /** The most that would be in use at one time. */
  readonly wanted: number;
}

/** An allocation that would be better elsewhere. */
export interface PlanMove {
  readonly namespace: string;
  readonly job: string;
  /** `web[2]` */
  readonly slot: string;
  readonly allocation: string;
  readonly from: string;
  readonly to: string;
  /** How much better it scores there, in units of the load score's range. */
  readonly gain: number;
  /** For people. */
  readonly reason: string;
}

/** What one job would do, until nothing more follows in a cell where nothing else happens. */
export interface JobPlan {
  readonly namespace: string;
  readonly job: string;
  readonly version: number;
  readonly scheduler: string;
  /** In the order in which they would be done. */
  readonly acts: readonly PlanAct[];
  /** Acts that are not listed. */
  readonly actsLeftOut: number;
  /** Groups that would wait for something. */
  readonly waits: readonly PlanWait[];
  /** The job would end. */
  readonly finished?: JobPhase;
}

/**
 * - `start`: on this host; `from`: where its slot had its last allocation before, if that stops
 * - `stop`: an allocation of the job
 * - `preempt`: an allocation of another job, which gives its place to this one
 * - `stay`: an allocation of the job on a lost host, which is not replaced
 */
export interface PlanAct {
  readonly act: 'start' | 'stop' | 'preempt' | 'stay';
  readonly namespace: string;
  readonly job: string;
  /** `web[2]` */
  readonly slot: string;
  readonly host: string;
  readonly from?: string;
  /** Of what there is; absent for a start. */
  readonly allocation?: string;
  /** Why it stops, or stays. */
  readonly cause?: string;
}

export interface PlanWait {
  readonly group: string;
  /** Slots without a place; 0: it waits for something else. */
  readonly waiting: number;
  /** How many of them had none before. */
  readonly waitingBefore: number;
  readonly stage: string;
  readonly detail: string;
}

export interface SchedulerPlanRequest {
  /** How the cell is otherwise than it is. */
  readonly cell: {
    readonly hostsLost: readonly string[];
    readonly hostsAdded: readonly Host[];
    /** Placements of other schedulers. */
    readonly placed: readonly Claim[];
    /** What no longer holds its place. */
    readonly freed: readonly Claim[];
  };
  /** The record that a submission would write. */
  readonly submit?: JobRecord;
  /** Allocations of own jobs that another scheduler would preempt. */
  readonly evicted: readonly EvictedAllocation[];
  /** Decide for all own jobs that hosts of `cell` concern. */
  readonly affected: boolean;
  /** Propose moves of own jobs instead. */
  readonly rebalance?: RebalanceWish;
}

export interface EvictedAllocation {
  readonly namespace: string;
  readonly job: string;
  readonly id: string;
  readonly by: string;
}

export interface SchedulerPlan {
  readonly scheduler: string;
  readonly jobs: readonly JobPlan[];
  readonly placed: readonly Claim[];
  readonly freed: readonly Claim[];
  /** Allocations of jobs of other schedulers. */
  readonly evicted: readonly EvictedAllocation[];
  readonly isCut: boolean;
  /** Absent: none was asked for. */
  readonly moves?: readonly PlanMove[];
}
