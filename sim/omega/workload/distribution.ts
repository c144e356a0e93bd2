import type { Chance } from '../../../src/core/random/chance.ts';

/** How a number of a workload is drawn. Means are of the drawn value, in its own unit. */
export type Distribution =
  | { readonly kind: 'constant'; readonly value: number }
  | { readonly kind: 'exponential'; readonly mean: number }
  /** Every order of magnitude between the ends is equally likely: few large ones carry most of the sum. */
  | { readonly kind: 'log-uniform'; readonly least: number; readonly most: number }
  /** Equally spaced quantiles, the first and the last being the least and the largest; read with linear interpolation. */
  | { readonly kind: 'quantiles'; readonly values: readonly number[] }
  | { readonly kind: 'mixture'; readonly parts: readonly Part[] };

export interface Part {
  readonly weight: number;
  readonly of: Distribution;
}

export function draw(distribution: Distribution, chance: Chance): number {
  switch (distribution.kind) {
    case 'constant':
      return distribution.value;
    case 'exponential':
      return -distribution.mean * Math.log(1 - chance.fraction());
    case 'log-uniform':
      return distribution.least * (distribution.most / distribution.least) ** chance.fraction();
    case 'quantiles':
      return quantileOf(distribution.values, chance.fraction());
    case 'mixture':
      return draw(partAt(distribution.parts, chance.fraction() * weightOf(distribution.parts)), chance);
  }
}

export function meanOf(distribution: Distribution): number {
  switch (distribution.kind) {
    case 'constant':
      return distribution.value;
    case 'exponential':
      return distribution.mean;
    case 'log-uniform': {
      const { least, most } = distribution;
      // The logarithm of a ratio next to 1 would lose all its digits.
      return most === least ? least : (most - least) / Math.log1p((most - least) / least);
    }
    case 'quantiles':
      return meanOfQuantiles(distribution.values);
    case 'mixture': {
      const sum = distribution.parts.reduce((total, { weight, of }) => total + weight * meanOf(of), 0);
      return sum / weightOf(distribution.parts);
    }
  }
}

/** The value at `fraction` (0 to 1) of ascending, equally spaced quantiles, on the line between the two next ones. */
export function quantileOf(ascending: readonly number[], fraction: number): number {
  const last = ascending.length - 1;
  if (last < 0) return Number.NaN;
  const at = Math.min(last, Math.max(0, fraction * last));
  const below = Math.floor(at);
  const low = ascending[below] as number;
  const high = ascending[Math.min(last, below + 1)] as number;
  return low + (high - low) * (at - below);
}

function meanOfQuantiles(ascending: readonly number[]): number {
  if (ascending.length === 1) return ascending[0] as number;
  let sum = 0;
  for (let i = 1; i < ascending.length; i++)
    sum += ((ascending[i - 1] as number) + (ascending[i] as number)) / 2;
  return sum / (ascending.length - 1);
}

/**
 * What is left of a lifetime that is met at a random moment. Long ones are met more often; an exponential one has its
 * whole mean before it whenever it is met, any other is met at a random point of its length.
 */
export function residual(lifetime: Distribution, chance: Chance): number {
  if (lifetime.kind === 'exponential') return draw(lifetime, chance);
  if (lifetime.kind === 'mixture') {
    const { parts } = lifetime;
    const weights = parts.map(({ weight, of }) => ({ weight: weight * meanOf(of), of }));
    return residual(partAt(weights, chance.fraction() * weightOf(weights)), chance);
  }
  const longest = longestOf(lifetime);
  for (;;) {
    const length = draw(lifetime, chance);
    if (length >= longest * chance.fraction()) return length * chance.fraction();
  }
}

function longestOf(bounded: Exclude<Distribution, { kind: 'exponential' | 'mixture' }>): number {
  if (bounded.kind === 'constant') return bounded.value;
  return bounded.kind === 'log-uniform' ? bounded.most : (bounded.values.at(-1) ?? 0);
}

function weightOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { weight }) => sum + weight, 0);
}

function partAt(parts: readonly Part[], target: number): Distribution {
  let before = 0;
  for (const { weight, of } of parts) {
    before += weight;
    if (target < before) return of;
  }
  const last = parts.at(-1);
  if (last === undefined) throw new Error('a mixture of nothing');
  return last.of;
}
