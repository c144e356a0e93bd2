import type { Allocation, Outcome } from '../cell/allocation.ts';
import type { Owner } from '../cell/cell.ts';
import type { PendingPreemption } from '../cell/intent.ts';
import type { Shortfall } from '../cell/resources.ts';
import type { LostHost } from '../host/host.ts';

/** What one decision of a scheduler wants of the cell. Each part gets exactly one outcome. */
export interface Plan {
  readonly id: string;
  readonly atomicity: Atomicity;
  /** New allocations, each with its claim. Those of one host land or fail together. */
  readonly places: readonly Allocation[];
  /** Victims of `places` on the same host: marked `evict`, their use freed, in the same transaction. */
  readonly evictions: readonly Eviction[];
  /** Allocations that their host has released: record and claim are deleted, the outcome is written. */
  readonly releases: readonly Release[];
  /** By place: the hosts by whose loss its slot is vacant. The commit compares that they still are. Absent: none. */
  readonly lostHosts?: LostHosts;
  /** No arbiter has said that the namespaces of its places have a quota: the commit compares that they have none. */
  readonly withoutQuota?: boolean;
  /** Its job is claimed by the same transaction. Only of `all-or-nothing` plans that place. */
  readonly jobClaim?: JobClaim;
  /** Of the recorded trace that it belongs to; absent: none. */
  readonly traceparent?: string;
}

/** Of a job without an owner, of which nothing but its record may be in the store. Whatever refuses it refuses the plan. */
export interface JobClaim {
  readonly namespace: string;
  readonly job: string;
  /** Who is to own it. */
  readonly by: Owner;
}

export type LostHosts = ReadonlyMap<string, readonly LostHost[]>;

/** `incremental`: each host stands alone. `all-or-nothing`: one conflict refuses the whole plan. */
export type Atomicity = 'incremental' | 'all-or-nothing';

/** `resource-fit`: a changed ledger is a conflict only if the claim no longer fits. `version`: always (no rebase). */
export type ConflictCheck = 'resource-fit' | 'version';

export interface Eviction {
  readonly victim: Allocation;
  /** The mod revision at which the victim was read; the commit compares it. */
  readonly victimRevision: number;
  readonly cause: string;
  /**
   * The preemption is pending until a gang's intent ends; the commit compares the intent. It lands together with all
   * places and evictions of its host, or none of them does.
   */
  readonly yields?: PendingPreemption;
}

export interface Release {
  readonly allocation: Allocation;
  /** The mod revision at which the allocation was read; the commit compares it. */
  readonly revision: number;
  /** null: none is kept (a host refused the start). */
  readonly outcome: Outcome | null;
  /**
   * The mod revision of its void intent: it will never start, so any process may release it. The commit compares the
   * intent instead of the owner.
   */
  readonly voidedAt?: number;
  /**
   * Of a reserved member: the pending preemptions on its host that the same transaction reverts. Releases of one host that
   * have this field, even if empty, land together or not at all.
   */
  readonly reverts?: readonly Revert[];
  /** Its host has not said that it ended, but an operator's word or a fence does. */
  readonly isFenced?: true;
}

export interface Revert {
  /** As it was read, with its mark. */
  readonly victim: Allocation;
  readonly revision: number;
}

/** A transaction was refused, since another one had changed a host's ledger after it was read. */
export interface LedgerRace {
  /** The mod revision that the transaction compared. */
  readonly readRevision: number;
  /** The one that the store had by then: the transaction that came first. */
  readonly foundRevision: number;
}

/**
 * How one part of a plan ended. `rebased`: committed, though its host's ledger had changed, since it still fitted. `race`: the last
 * refusal; absent: none was for the host's ledger.
 */
export type PartOutcome =
  | { readonly kind: 'committed' | 'rebased'; readonly revision: number; readonly race?: LedgerRace }
  | { readonly kind: 'conflicted'; readonly why: ConflictReason; readonly race?: LedgerRace };

export type ConflictReason =
  /** It no longer fits: this dimension ran out. */
  | { readonly reason: 'no-fit'; readonly short: Shortfall }
  /** `conflictCheck: version`: the ledger has changed. */
  | { readonly reason: 'version' }
  /** The scheduler does not own the job, or could not claim it. */
  | { readonly reason: 'not-owner' }
  /** The intent of a reserved member is no longer open: it expired and was made void. */
  | { readonly reason: 'intent-gone' }
  /** The host is back, or lost anew: the slot may not be vacant. */
  | { readonly reason: 'host-back'; readonly host: string }
  /** The namespace has a quota, which the plan took to have none. */
  | { readonly reason: 'quota' }
  /** The victim or the allocation to release changed or is gone. */
  | { readonly reason: 'changed' }
  /** Another part of the same all-or-nothing plan conflicted. */
  | { readonly reason: 'plan-refused' }
  /** The number of rebases in a row reached its bound. */
  | { readonly reason: 'contended' }
  /** More than one transaction holds, and it may not be split: an all-or-nothing plan, or pending preemptions. */
  | { readonly reason: 'too-large' };

/** By allocation id: every place, eviction and release of the plan exactly once (I5). */
export type PlanOutcome = ReadonlyMap<string, PartOutcome>;
