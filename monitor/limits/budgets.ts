import type { BudgetPolicy } from '../../src/core/quota/budgets.ts';
import { BUDGETS, NO_BUDGETS } from '../../src/core/quota/budgets.ts';
import { tokensIn } from '../../src/core/quota/token-bucket.ts';
import { budgetPolicyCodec } from '../../src/wire/budgets/budget-records.ts';
import type { BudgetsAnswer } from '../../src/wire/budgets/budgets.ts';
import type { MonitorContext } from '../context.ts';
import type { LimitPorts } from './limits.ts';
import { writeLimit } from './limits.ts';

/** What the cell may do of its own accord, and what is left of that. */
export function budgetsIn({ copy, clock }: Pick<MonitorContext, 'copy' | 'clock'>): BudgetsAnswer {
  const policy = copy.budgets.get('')?.value ?? NO_BUDGETS;
  return {
    budgets: BUDGETS.map((kind) => {
      const rule = policy[kind] ?? null;
      const left = rule === null ? null : tokensIn(rule, copy.buckets.get(kind)?.value, clock.nowMs());
      return { kind, rule, left };
    }),
  };
}

/** @returns the revision at which it holds */
export function setBudgets(ports: LimitPorts, policy: BudgetPolicy): Promise<number> {
  const value = budgetPolicyCodec.encode(policy);
  return writeLimit(ports, { kind: 'put', key: ports.keys.budgets, value });
}
