/**
 * How many instances an elastic group should have: pure functions of what the cell holds and what the group asks for. The
 * cell's elastic scheduler and the simulator of the paper's MapReduce scheduler (`sim/omega/elastic`) decide with the same.
 *
 * - this file: the policies (Omega, section 6)
 * - `cell-use.ts`: what is given away and what there is, added up over a private copy of the cell
 *
 * What slots follow from a target is in `src/core/slots/surplus-slots.ts`.
 */

import type { ElasticPolicy } from '../cell/job.ts';

export interface ElasticRule {
  readonly policy: ElasticPolicy;
  /** For `global-cap`: share of the cell in use, in percent. */
  readonly capPercent: number;
  /** For `relative-job-size`: how many times the minimum. */
  readonly factor: number;
}

/** The paper's values. */
export const DEFAULT_ELASTIC: ElasticRule = { policy: 'global-cap', capPercent: 60, factor: 4 };

/** What a group may have, and what one instance of it asks for. */
export interface ElasticSize {
  readonly min: number;
  readonly max: number;
  readonly cpuMilli: number;
  readonly memoryMib: number;
}

/** What is given away and what there is, of a whole cell as its scheduler sees it. */
export interface CellUse {
  readonly cpuMilliTotal: number;
  readonly memoryMibTotal: number;
  readonly cpuMilliUsed: number;
  readonly memoryMibUsed: number;
}

/** How many it could get if the cell were empty: from the minimum to the maximum. */
export function mostOf({ policy, factor }: ElasticRule, { min, max }: ElasticSize): number {
  const most = policy === 'relative-job-size' ? Math.floor(factor * min) : max;
  return Math.max(min, Math.min(most, max));
}

/**
 * How many it should have with the cell as it is. The minimum is never in question, however full the cell is, and what it has
 * within its policy's reach it keeps: the cap bounds growth, and others take back what they need.
 * @param has the instances that it has already, which the cell's use counts
 */
export function targetOf(rule: ElasticRule, size: ElasticSize, has: number, cell: CellUse): number {
  const most = mostOf(rule, size);
  if (rule.policy !== 'global-cap') return most;
  return Math.max(size.min, Math.min(most, has + roomBelow(rule.capPercent, size, cell)));
}

/** The target, as far as the idle resources of the whole cell could hold it now. */
export function targetWithin(rule: ElasticRule, size: ElasticSize, has: number, cell: CellUse): number {
  const target = targetOf(rule, size, has, cell);
  return Math.max(Math.min(target, has), Math.min(target, has + roomBelow(PERCENT, size, cell)));
}

const PERCENT = 100;

/** So many more bring the use of the cell up to the share: by cpu or by memory, whichever is nearer to it. */
function roomBelow(sharePercent: number, size: ElasticSize, cell: CellUse): number {
  const share = sharePercent / PERCENT;
  const byCpu = roomFor(share * cell.cpuMilliTotal - cell.cpuMilliUsed, size.cpuMilli);
  const byMemory = roomFor(share * cell.memoryMibTotal - cell.memoryMibUsed, size.memoryMib);
  return Math.max(0, Math.min(byCpu, byMemory));
}

/** What asks for nothing of a resource is not bounded by it, but by one that is used up. */
function roomFor(left: number, each: number): number {
  if (each > 0) return Math.floor(left / each);
  return left >= 0 ? Number.POSITIVE_INFINITY : 0;
}
