import type { BucketRule } from './token-bucket.ts';

/**
 * What the cell does to work that runs, of its own accord. Each kind has a budget of the whole cell, which all its schedulers and
 * monitors share.
 *
 *   replacements  what was on a lost host is begun elsewhere
 *   moves         what runs is stopped to run elsewhere: since its host drains, its labels changed, or somebody asked for it
 *   orphans       what was to end on a lost host is given up after the orphan time, without the host's word
 *   evictions     what runs gives way to higher precedence; surplus of elastic groups needs no token
 */
export const BUDGETS = ['replacements', 'moves', 'evictions', 'orphans'] as const;
export type BudgetKind = (typeof BUDGETS)[number];

/** A bucket for each value of a host's attribute. */
export interface DomainRule extends BucketRule {
  /** `rack` */
  readonly attribute: string;
}

/** What an operator allows of one kind: in the whole cell (`burst` and `perHour`, both or neither), in each failure domain, or both. */
export interface BudgetRule extends Partial<BucketRule> {
  readonly per?: DomainRule;
}

/** What an operator allows, by kind. Absent: as much as there is. */
export type BudgetPolicy = Readonly<Partial<Record<BudgetKind, BudgetRule>>>;

export const NO_BUDGETS: BudgetPolicy = Object.freeze({});

export const BURST_MAX = 100_000;
export const PER_HOUR_MAX = 1_000_000;

/** What the whole cell may do; null: only what each domain may is bounded, or nothing. */
export function cellRuleOf(rule: BudgetRule | undefined): BucketRule | null {
  const { burst, perHour } = rule ?? {};
  return burst === undefined || perHour === undefined ? null : { burst, perHour };
}
