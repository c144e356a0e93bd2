import type { Claim } from '../cell/claim.ts';
import type { Quota } from './quota.ts';

/** What a namespace uses, is granted, or may use. */
export interface NamespaceAmounts {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpuMilli: number;
  readonly allocations: number;
}

export const NO_AMOUNTS: NamespaceAmounts = Object.freeze({
  cpuMilli: 0,
  memoryMib: 0,
  gpuMilli: 0,
  allocations: 0,
});

/** The dimensions in the order in which a refusal names them. */
export const DIMENSIONS = ['cpuMilli', 'memoryMib', 'gpuMilli', 'allocations'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** What one allocation counts against the quota of its namespace. */
export function amountsOf(claim: Claim): NamespaceAmounts {
  const gpuMilli = claim.gpus.reduce((sum, share) => sum + share.milli, 0);
  return {
    cpuMilli: claim.resources.cpuMilli,
    memoryMib: claim.resources.memoryMib,
    gpuMilli,
    allocations: 1,
  };
}

export function addAmounts(a: NamespaceAmounts, b: NamespaceAmounts, sign: 1 | -1 = 1): NamespaceAmounts {
  return combined(a, b, (x, y) => x + sign * y);
}

/** The larger of the two in each dimension. */
export function maxAmounts(a: NamespaceAmounts, b: NamespaceAmounts): NamespaceAmounts {
  return combined(a, b, Math.max);
}

function combined(
  a: NamespaceAmounts,
  b: NamespaceAmounts,
  of: (a: number, b: number) => number,
): NamespaceAmounts {
  return {
    cpuMilli: of(a.cpuMilli, b.cpuMilli),
    memoryMib: of(a.memoryMib, b.memoryMib),
    gpuMilli: of(a.gpuMilli, b.gpuMilli),
    allocations: of(a.allocations, b.allocations),
  };
}

/** The first dimension in which the amounts are over the quota; null when none is. */
export function overQuota(amounts: NamespaceAmounts, quota: Quota): Dimension | null {
  for (const dimension of DIMENSIONS) {
    const limit = quota[dimension];
    if (limit !== null && amounts[dimension] > limit) return dimension;
  }
  return null;
}

/** Sums by namespace; a sum of zero is not stored. */
export class NamespaceSums {
  readonly #sums = new Map<string, NamespaceAmounts>();

  get(namespace: string): NamespaceAmounts {
    return this.#sums.get(namespace) ?? NO_AMOUNTS;
  }

  names(): IterableIterator<string> {
    return this.#sums.keys();
  }

  /** @throws when the sum would be below zero: something was counted twice */
  change(namespace: string, amounts: NamespaceAmounts, sign: 1 | -1): void {
    const sum = addAmounts(this.get(namespace), amounts, sign);
    if (DIMENSIONS.some((dimension) => sum[dimension] < 0))
      throw new Error(`namespace ${namespace}: use below zero`);
    if (DIMENSIONS.every((dimension) => sum[dimension] === 0)) this.#sums.delete(namespace);
    else this.#sums.set(namespace, sum);
  }
}
