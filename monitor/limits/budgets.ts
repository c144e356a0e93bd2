import type { BudgetPolicy } from '../../src/core/quota/budgets.ts';
import { bucketNamed, ruleOf } from '../../src/core/quota/budget-buckets.ts';
import { BUDGETS, cellRuleOf, NO_BUDGETS } from '../../src/core/quota/budgets.ts';
import { tokensIn } from '../../src/core/quota/token-bucket.ts';
import { budgetPolicyCodec } from '../../src/wire/budgets/budget-records.ts';
import type { BudgetsAnswer } from '../../src/wire/budgets/budgets.ts';
import type { MonitorContext } from '../context.ts';
import type { LimitPorts } from './limits.ts';
import { writeLimit } from './limits.ts';

/** What the cell may do of its own accord, and what is left of that. */
export function budgetsIn({ copy, clock }: Pick<MonitorContext, 'copy' | 'clock'>): BudgetsAnswer {
  const policy = copy.budgets.get('')?.value ?? NO_BUDGETS;
  const nowMs = clock.nowMs();
  const buckets = [...copy.buckets.rows()].map(([name, { value }]) => ({ ...value, of: bucketNamed(name) }));
  return {
    budgets: BUDGETS.map((kind) => {
      const rule = cellRuleOf(policy[kind]);
      const left = rule === null ? null : tokensIn(rule, copy.buckets.get(kind)?.value, nowMs);
      const per = policy[kind]?.per;
      if (per === undefined) return { kind, rule, left };
      const domains = buckets.flatMap(({ fullAtMs, of }) => {
        // Those of an attribute by which nothing is bounded any more go by themselves.
        if (of?.kind !== kind || of.domain === null || ruleOf(policy, of) === null) return [];
        return [{ value: of.domain.value, left: tokensIn(per, { fullAtMs }, nowMs) }];
      });
      const { attribute, burst, perHour } = per;
      domains.sort((a, b) => a.value.localeCompare(b.value));
      return { kind, rule, left, per: { attribute, burst, perHour, domains } };
    }),
  };
}

/** @returns the revision at which it holds */
export function setBudgets(ports: LimitPorts, policy: BudgetPolicy): Promise<number> {
  const value = budgetPolicyCodec.encode(policy);
  return writeLimit(ports, { kind: 'put', key: ports.keys.budgets, value });
}
