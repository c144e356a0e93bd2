import { z } from 'zod';
import type { NamespaceAmounts } from '../../core/quota/amounts.ts';
import { ID_PATTERN, ID_RULE } from '../../core/cell/ids.ts';
import type { Quota } from '../../core/quota/quota.ts';
import { whole } from '../codec/codec.ts';
import { QUOTA_AMOUNT_MAX } from '../values/bounds.ts';
import { readBody } from './api.ts';

/**
 * The monitor's API about what namespaces may use.
 *
 *   GET    /v1/quotas              → QuotaListAnswer
 *   PUT    /v1/quotas/:namespace   QuotaRequest → QuotaStatus; the same again changes nothing
 *   DELETE /v1/quotas/:namespace   → 204, also when there is none
 */
export interface QuotaListAnswer {
  readonly quotas: readonly QuotaStatus[];
}

export interface QuotaStatus extends Quota {
  /** What allocations of the namespace hold, in this monitor's view. */
  readonly used: NamespaceAmounts;
  /** false: the record in the store is unreadable, and arbiters that never read a valid one grant the namespace nothing. */
  readonly isReadable: boolean;
}

/** null: no limit. */
export type QuotaRequest = Omit<Quota, 'namespace'>;

const limit = whole.max(QUOTA_AMOUNT_MAX).nullable();

export const quotaRequest = z.strictObject({
  cpuMilli: limit,
  memoryMib: limit,
  gpuMilli: limit,
  allocations: limit,
});

const namespaceParam = z.strictObject({
  namespace: z.string().regex(ID_PATTERN, ID_RULE),
});

/** @throws ProblemError 400 with the place that is wrong */
export function readQuota(namespace: unknown, body: unknown): Quota {
  return { namespace: readNamespace(namespace), ...readBody(quotaRequest, body) };
}

/** @throws ProblemError 400 */
export function readNamespace(namespace: unknown): string {
  return readBody(namespaceParam, { namespace }).namespace;
}
