/**
 * What crosses edges of the cell's budgets: the records are in `budget-records.ts`, an operator's file in `budget-file.ts`,
 * the monitor's API here.
 *
 *   GET    /v1/budgets                 → BudgetsAnswer
 *   PUT    /v1/budgets                 BudgetPolicy: what is left out is not bounded → BudgetsAnswer
 */
import type { BudgetKind, BudgetPolicy, DomainRule } from '../../core/quota/budgets.ts';
import type { BucketRule } from '../../core/quota/token-bucket.ts';
import { readBody } from '../api/api.ts';
import { budgetPolicyRequest } from './budget-records.ts';

export interface BudgetStatus {
  readonly kind: BudgetKind;
  /** Of the whole cell; null: nothing bounds it there. */
  readonly rule: BucketRule | null;
  /** Tokens that nobody has drawn; null: nothing bounds it there. */
  readonly left: number | null;
  /** Of each failure domain; absent: nothing bounds it there. */
  readonly per?: DomainBudget;
}

export interface DomainBudget extends DomainRule {
  /** Those that were drawn from lately. `value` is empty for the hosts that have no such attribute. */
  readonly domains: readonly { readonly value: string; readonly left: number }[];
}

export interface BudgetsAnswer {
  readonly budgets: readonly BudgetStatus[];
}

/** @throws ProblemError 400 with the place that is wrong */
export function readBudgetPolicy(body: unknown): BudgetPolicy {
  return readBody(budgetPolicyRequest, body);
}
