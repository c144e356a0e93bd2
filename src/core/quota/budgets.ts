import type { BucketRule } from './token-bucket.ts';

/**
 * What the cell does to work that runs, of its own accord. Each kind has a budget of the whole cell, which all its schedulers and
 * monitors share.
 *
 *   replacements  what was on a lost host is begun elsewhere
 *   moves         what runs is stopped to run elsewhere: since its host drains, its labels changed, or somebody asked for it
 *   orphans       what was to end on a lost host is given up after the orphan time, without the host's word
 *   evictions     what runs gives way to higher precedence; surplus of elastic groups needs no token
 */
export const BUDGETS = ['replacements', 'moves', 'evictions', 'orphans'] as const;
export type BudgetKind = (typeof BUDGETS)[number];

/** What an operator allows, by kind. Absent: as much as there is. */
export type BudgetPolicy = Readonly<Partial<Record<BudgetKind, BucketRule>>>;

export const NO_BUDGETS: BudgetPolicy = Object.freeze({});

export const BURST_MAX = 100_000;
export const PER_HOUR_MAX = 1_000_000;

/** `20 at once and 60 an hour` */
export function ruleText({ burst, perHour }: BucketRule): string {
  return `${String(burst)} at once and ${String(perHour)} an hour`;
}

/** Why something waits, for people. */
export function waitsText(kind: BudgetKind, rule: BucketRule): string {
  return `waits for the cell's budget of ${kind}, ${ruleText(rule)}`;
}

/** @param amount of which one part alone is of no use */
export function tooManyText(kind: BudgetKind, rule: BucketRule, amount: number): string {
  return `needs ${String(amount)} ${kind} at once, more than the cell's budget of ${ruleText(rule)}`;
}
