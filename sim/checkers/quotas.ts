import type { Allocation } from '../../src/core/allocation.ts';
import type { Quota } from '../../src/core/limits.ts';
import type { CellAt, Step } from './cell-replay.ts';
import type { Findings } from './violations.ts';

export const QUOTA_DIMENSIONS = ['cpuMilli', 'memoryMib', 'gpuMilli', 'allocations'] as const;
export type Amounts = Record<(typeof QUOTA_DIMENSIONS)[number], number>;

/**
 * I9: what the store gives away of a namespace stays within its quota at every revision. Looked at where something was
 * added: a quota that an operator lowers below what is in use is nobody's commit.
 */
export class QuotaChecker {
  readonly #sums = new Map<string, Amounts>();

  check(step: Step, cell: CellAt, findings: Findings): void {
    const grown = new Map<string, string>();
    for (const { before, after } of step.changed.allocations) {
      if (before !== undefined) addAmounts(this.#of(before.namespace), before, -1);
      if (after === undefined) continue;
      addAmounts(this.#of(after.namespace), after, 1);
      if (before === undefined) grown.set(after.namespace, after.id);
    }
    for (const [namespace, id] of grown) {
      const over = overQuota(this.#of(namespace), cell.quotas.get(namespace));
      if (over !== null) findings.add('I9', step.revision, id, `${namespace}: ${over}`);
    }
  }

  #of(namespace: string): Amounts {
    let sum = this.#sums.get(namespace);
    if (sum === undefined) this.#sums.set(namespace, (sum = noAmounts()));
    return sum;
  }
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
