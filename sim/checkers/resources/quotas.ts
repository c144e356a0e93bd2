import type { Allocation } from '../../../src/core/cell/allocation.ts';
import type { Quota } from '../../../src/core/quota/quota.ts';
import type { CellAt, Step } from '../replay/replay.ts';
import type { Stamp } from '../../history/history.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

export const QUOTA_DIMENSIONS = ['cpuMilli', 'memoryMib', 'gpuMilli', 'allocations'] as const;
export type Amounts = Record<(typeof QUOTA_DIMENSIONS)[number], number>;

/**
 * I9: the allocations of a namespace stay within its quota at every revision. A quota counts what has not left its host: the amount
 * returns with the release on the host, and the record goes a little later. Checked where an allocation was added, since an
 * operator may lower a quota below what is in use.
 */
export function checkQuotas(
  step: Step,
  cell: CellAt,
  at: Stamp,
  run: Pick<RunIndex, 'leftHost'>,
  findings: Findings,
): void {
  const grown = new Map<string, string>();
  for (const { before, after } of step.changed.allocations)
    if (before === undefined && after !== undefined && cell.quotas.has(after.namespace))
      grown.set(after.namespace, after.id);
  for (const [namespace, id] of grown) {
    const sum = noAmounts();
    for (const allocation of cell.allocations.values())
      if (allocation.namespace === namespace && !hasLeftHost(allocation.id, at, run))
        addAmounts(sum, allocation, 1);
    const over = overQuota(sum, cell.quotas.get(namespace));
    if (over !== null) findings.add('I9', step.revision, id, `${namespace}: ${over}`);
  }
}

/** Released on its host, though its record may be deleted a little later. */
export function hasLeftHost(id: string, at: Stamp, { leftHost }: Pick<RunIndex, 'leftHost'>): boolean {
  const left = leftHost.get(id);
  return left !== undefined && left.seq < at.seq;
}

export function noAmounts(): Amounts {
  return { cpuMilli: 0, memoryMib: 0, gpuMilli: 0, allocations: 0 };
}

export function addAmounts(
  sum: Amounts,
  { resources, gpus }: Pick<Allocation, 'resources' | 'gpus'>,
  sign: 1 | -1,
): void {
  sum.cpuMilli += sign * resources.cpuMilli;
  sum.memoryMib += sign * resources.memoryMib;
  for (const { milli } of gpus) sum.gpuMilli += sign * milli;
  sum.allocations += sign;
}

/** @returns in words, how the amounts are over the quota; null when they are not */
export function overQuota(amounts: Amounts, quota: Quota | undefined): string | null {
  for (const dimension of QUOTA_DIMENSIONS) {
    const limit = quota?.[dimension] ?? null;
    if (limit !== null && amounts[dimension] > limit)
      return `${String(amounts[dimension])} ${dimension} of ${String(limit)}`;
  }
  return null;
}
