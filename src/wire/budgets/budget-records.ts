import { z } from 'zod';
import type { BudgetPolicy, BudgetRule, DomainRule } from '../../core/quota/budgets.ts';
import { BUDGETS, BURST_MAX, PER_HOUR_MAX } from '../../core/quota/budgets.ts';
import type { Bucket, BucketRule } from '../../core/quota/token-bucket.ts';
import { checkedCodec, schemaCodec, whole } from '../codec/codec.ts';

const RULE = { burst: whole.min(1).max(BURST_MAX), perHour: whole.min(1).max(PER_HOUR_MAX) };

export const bucketRule: z.ZodType<BucketRule> = z.looseObject(RULE);

const ATTRIBUTE = /^[A-Za-z][A-Za-z0-9._-]{0,67}$/;
const DOMAIN_RULE = {
  ...RULE,
  attribute: z.string().regex(ATTRIBUTE, { error: 'is no attribute of a host, such as rack' }),
};
export const domainRule: z.ZodType<DomainRule> = z.looseObject(DOMAIN_RULE);

/** Strict: a kind or a bound that is misspelt would be no bound. */
const ruleRequest: z.ZodType<BudgetRule> = z
  .strictObject({
    burst: z.exactOptional(RULE.burst),
    perHour: z.exactOptional(RULE.perHour),
    per: z.exactOptional(z.strictObject(DOMAIN_RULE)),
  })
  .refine(({ burst, perHour }) => (burst === undefined) === (perHour === undefined), {
    error: 'needs both burst and perHour',
  })
  .refine(({ burst, per }) => burst !== undefined || per !== undefined, {
    error: 'bounds nothing: it needs burst and perHour, per, or all of them',
  });

export const budgetPolicyRequest: z.ZodType<BudgetPolicy> = z.strictObject(byKind(ruleRequest));

/** What the cell may do of its own accord: `limits/budgets`. */
export const budgetPolicyCodec = checkedCodec<BudgetPolicy>(
  'budgets',
  z.looseObject(
    byKind(
      z.looseObject({
        burst: z.exactOptional(RULE.burst),
        perHour: z.exactOptional(RULE.perHour),
        per: z.exactOptional(domainRule),
      }),
    ),
  ),
);

function byKind<T extends z.ZodType>(rule: T) {
  return Object.fromEntries(BUDGETS.map((kind) => [kind, z.exactOptional(rule)]));
}

/** What is left of a budget, in the cell or in a failure domain: under `buckets/`. */
export const bucketCodec = schemaCodec<Bucket>('bucket', z.looseObject({ fullAtMs: whole }));
