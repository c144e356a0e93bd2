import type { Claim } from '../cell/claim.ts';
import type { NamespaceAmounts } from './amounts.ts';
import { amountsOf } from './amounts.ts';

/** What was granted of a quota for one allocation on one host. */
export interface Grant {
  readonly namespace: string;
  readonly job: string;
  readonly host: string;
  readonly id: string;
  readonly amounts: NamespaceAmounts;
}

/** The same as it is stored. */
export interface RecordedGrant {
  readonly namespace: string;
  readonly job: string;
  readonly host: string;
  readonly id: string;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpuMilli: number;
}

/**
 * What requests were granted against quotas, durable before the tickets go out: whoever keeps the quotas next reads it. Goes
 * when nothing of it is outstanding.
 */
export interface GrantBatch {
  readonly arbiter: string;
  readonly grants: readonly RecordedGrant[];
}

/** Since this quota began, every grant in the namespace that can still be used is in a batch. */
export interface CoveredNamespace {
  /** The revision that created the quota's record: a later quota of the namespace is another one. */
  readonly quotaRevision: number;
}

/** The grant for a claim of this job. */
export function grantOf(namespace: string, job: string, claim: Claim): Grant {
  return { namespace, job, host: claim.host, id: claim.id, amounts: amountsOf(claim) };
}

export function recordedGrant({ namespace, job, host, id, amounts }: Grant): RecordedGrant {
  const { cpuMilli, memoryMib, gpuMilli } = amounts;
  return { namespace, job, host, id, cpuMilli, memoryMib, gpuMilli };
}

export function grantFrom({ namespace, job, host, id, ...amounts }: RecordedGrant): Grant {
  const { cpuMilli, memoryMib, gpuMilli } = amounts;
  return { namespace, job, host, id, amounts: { cpuMilli, memoryMib, gpuMilli, allocations: 1 } };
}

/** What tells grants apart: an allocation is placed on one host. */
export function grantKey(host: string, id: string): string {
  return `${host}/${id}`;
}
