/**
 * What crosses edges of the cell's budgets: the records are in `budget-records.ts`, an operator's file in `budget-file.ts`,
 * the monitor's API here.
 *
 *   GET    /v1/budgets                 → BudgetsAnswer
 *   PUT    /v1/budgets                 BudgetPolicy: what is left out is not bounded → BudgetsAnswer
 */
import type { BudgetKind, BudgetPolicy } from '../../core/quota/budgets.ts';
import type { BucketRule } from '../../core/quota/token-bucket.ts';
import { readBody } from '../api/api.ts';
import { budgetPolicyRequest } from './budget-records.ts';

export interface BudgetStatus {
  readonly kind: BudgetKind;
  /** null: nothing bounds it. */
  readonly rule: BucketRule | null;
  /** Tokens that nobody has drawn; null: nothing bounds it. */
  readonly left: number | null;
}

export interface BudgetsAnswer {
  readonly budgets: readonly BudgetStatus[];
}

/** @throws ProblemError 400 with the place that is wrong */
export function readBudgetPolicy(body: unknown): BudgetPolicy {
  return readBody(budgetPolicyRequest, body);
}
