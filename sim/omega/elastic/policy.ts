import { ELASTIC_POLICIES as CELL_POLICIES } from '../../../src/core/cell/job.ts';
import type { CellUse, ElasticRule } from '../../../src/core/elastic/elastic.ts';
import * as elastic from '../../../src/core/elastic/elastic.ts';
import type { FreeCapacity } from '../model/free-capacity.ts';
import type { ElasticJob, Phase } from './mapreduce-job.ts';

/** The cell's policies, with the paper's values, and `as-asked`: nothing beyond what was asked for; what the others are compared with. */
export const ELASTIC_POLICIES = ['as-asked', ...CELL_POLICIES] as const;
export type ElasticPolicy = (typeof ELASTIC_POLICIES)[number];

/** Adds a private copy up: the specialised scheduler sees the whole cell, as any other does. */
export function viewOf(
  copy: FreeCapacity,
  totals: Pick<CellUse, 'cpuMilliTotal' | 'memoryMibTotal'>,
): CellUse {
  let [cpuMilliFree, memoryMibFree] = [0, 0];
  for (let host = 0; host < copy.cpuMilli.length; host++) {
    cpuMilliFree += copy.cpuMilli[host]!;
    memoryMibFree += copy.memoryMib[host]!;
  }
  const { cpuMilliTotal, memoryMibTotal } = totals;
  return {
    ...{ cpuMilliTotal, memoryMibTotal },
    cpuMilliUsed: cpuMilliTotal - cpuMilliFree,
    memoryMibUsed: memoryMibTotal - memoryMibFree,
  };
}

/**
 * How many workers the job could get in this phase if the cell were empty. Never more than it has activities, since with the
 * linear model the least number that ends earliest is one for each.
 */
export function mostOf(policy: ElasticPolicy, job: ElasticJob, phase: Phase): number {
  return elastic.mostOf(ruleOf(policy), sizeOf(policy, job, phase));
}

/**
 * How many it should have with the cell as it is. It gets what was asked for, however full the cell is.
 * @param has the workers that it has already
 */
export function targetOf(
  policy: ElasticPolicy,
  job: ElasticJob,
  phase: Phase,
  has: number,
  cell: CellUse,
): number {
  return elastic.targetOf(ruleOf(policy), sizeOf(policy, job, phase), has, cell);
}

/** The same, as far as the idle resources of the whole cell could hold it. */
export function targetWithin(
  policy: ElasticPolicy,
  job: ElasticJob,
  phase: Phase,
  has: number,
  cell: CellUse,
): number {
  return elastic.targetWithin(ruleOf(policy), sizeOf(policy, job, phase), has, cell);
}

function ruleOf(policy: ElasticPolicy): ElasticRule {
  return { ...elastic.DEFAULT_ELASTIC, policy: policy === 'as-asked' ? 'max-parallelism' : policy };
}

/** An owner may have asked for more workers than a phase has activities. */
function sizeOf(policy: ElasticPolicy, { workers, worker }: ElasticJob, { activities }: Phase) {
  const min = Math.min(workers, activities);
  return { min, max: policy === 'as-asked' ? min : activities, ...worker };
}
