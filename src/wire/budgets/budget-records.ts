import { z } from 'zod';
import type { BudgetPolicy } from '../../core/quota/budgets.ts';
import { BUDGETS, BURST_MAX, PER_HOUR_MAX } from '../../core/quota/budgets.ts';
import type { Bucket, BucketRule } from '../../core/quota/token-bucket.ts';
import { schemaCodec, whole } from '../codec/codec.ts';

export const bucketRule: z.ZodType<BucketRule> = z.looseObject({
  burst: whole.min(1).max(BURST_MAX),
  perHour: whole.min(1).max(PER_HOUR_MAX),
});

const FIELDS = Object.fromEntries(BUDGETS.map((kind) => [kind, z.exactOptional(bucketRule)]));

/** Strict: a kind that is misspelt would be no bound. */
export const budgetPolicyRequest: z.ZodType<BudgetPolicy> = z.strictObject(FIELDS);

/** What the cell may do of its own accord: `limits/budgets`. */
export const budgetPolicyCodec = schemaCodec<BudgetPolicy>('budgets', z.looseObject(FIELDS));

/** What is left of a budget, under `buckets/`. */
export const bucketCodec = schemaCodec<Bucket>('bucket', z.looseObject({ fullAtMs: whole }));
