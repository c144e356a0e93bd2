import type { Allocation, Outcome } from '../cell/allocation.ts';
import type { PendingPreemption } from '../cell/intent.ts';
import type { Shortfall } from '../cell/resources.ts';

/**
 * What one decision of a scheduler wants of the cell. Applied by `commit`; each part lands in exactly one outcome.
 */
export interface Plan {
  readonly id: string;
  readonly atomicity: Atomicity;
  /** New allocations, each with its claim. Those of one host land or fail together. */
  readonly places: readonly Allocation[];
  /** Allocations that give way to `places` on the same host: marked `evict`, their use freed, in the same transaction. */
  readonly evictions: readonly Eviction[];
  /** Allocations that their host confirmed as released: record and claim go, the outcome is written. */
  readonly releases: readonly Release[];
}

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
   * It gives way to a gang by intent, which the commit compares, and is taken back when that comes to nothing. It lands
   * together with all places and evictions of its host, or none of them does.
   */
  readonly yields?: PendingPreemption;
}

export interface Release {
  readonly allocation: Allocation;
  /** The mod revision at which the allocation was read; the commit compares it. */
  readonly revision: number;
  /** null: nothing worth keeping (a host that refused the start). */
  readonly outcome: Outcome | null;
  /**
   * The mod revision of its intent, which is void: nobody ever starts it, so that it is for anybody to release, whoever
   * owns the job. The commit compares the intent instead of the owner.
   */
  readonly voidedAt?: number;
  /**
   * Of a reserved member that took places of others: who yielded to the intent's members on its host, and is taken back in
   * the same transaction. Releases of one host that have it, be it empty, land together or not at all.
   */
  readonly reverts?: readonly Revert[];
}

export interface Revert {
  /** As it was read, marked. */
  readonly victim: Allocation;
  readonly revision: number;
}

/**
 * How one part of a plan ended. `rebased` is committed too, after its host's ledger had moved on and it still fitted.
 */
export type PartOutcome =
  | { readonly kind: 'committed' | 'rebased'; readonly revision: number }
  | { readonly kind: 'conflicted'; readonly why: ConflictReason };

export type ConflictReason =
  /** It no longer fits: this dimension ran out. */
  | { readonly reason: 'no-fit'; readonly short: Shortfall }
  /** `conflictCheck: version`: the ledger had moved, whatever it holds. */
  | { readonly reason: 'version' }
  /** The scheduler no longer owns the job: all its work on that job is void. */
  | { readonly reason: 'not-owner' }
  /** The intent of a reserved member is no longer open: it took too long, and somebody made it void. */
  | { readonly reason: 'intent-gone' }
  /** The victim or the allocation to release changed or is gone. */
  | { readonly reason: 'changed' }
  /** Another part of the same all-or-nothing plan conflicted. */
  | { readonly reason: 'plan-refused' }
  /** The number of rebases in a row reached its bound. */
  | { readonly reason: 'contended' }
  /** More than one transaction can hold, and it may not be split: an all-or-nothing plan, or a host on which somebody yields. */
  | { readonly reason: 'too-large' };

/** By allocation id: every place, eviction and release of the plan exactly once (I5, and the law of total partition). */
export type PlanOutcome = ReadonlyMap<string, PartOutcome>;
