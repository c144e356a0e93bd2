import { quantileOf } from '../workload/distribution.ts';

export function mean(numbers: readonly number[]): number | null {
  return numbers.length === 0 ? null : numbers.reduce((sum, n) => sum + n, 0) / numbers.length;
}

/** @param fraction 0.9 for the 90th percentile */
export function percentile(numbers: readonly number[], fraction: number): number | null {
  if (numbers.length === 0) return null;
  return quantileOf(ascending(numbers), fraction);
}

/** 0 of nothing. */
export function median(numbers: readonly number[]): number {
  return percentile(numbers, 0.5) ?? 0;
}

export function medianDeviation(numbers: readonly number[]): number {
  const middle = median(numbers);
  return median(numbers.map((n) => Math.abs(n - middle)));
}

/** 0 of nothing. */
export function standardDeviation(numbers: readonly number[]): number {
  const middle = mean(numbers) ?? 0;
  return Math.sqrt(mean(numbers.map((n) => (n - middle) ** 2)) ?? 0);
}

const ascending = (numbers: readonly number[]): number[] => [...numbers].sort((a, b) => a - b);
