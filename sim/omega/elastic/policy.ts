import type { FreeCapacity } from '../model/free-capacity.ts';
import type { ElasticJob, Phase } from './mapreduce-job.ts';

/**
 * How far the scheduler goes in giving idle resources to a job:
 * - `as-asked`: not at all; what the others are compared with
 * - `max-parallelism`: as long as another worker makes the job end earlier
 * - `global-cap`: the same, but never beyond a share of the cell in use
 * - `relative-job-size`: up to four times what was asked for
 */
export const ELASTIC_POLICIES = ['as-asked', 'max-parallelism', 'global-cap', 'relative-job-size'] as const;
export type ElasticPolicy = (typeof ELASTIC_POLICIES)[number];

/** The paper's values. */
const GLOBAL_CAP = 0.6;
const RELATIVE_CAP = 4;

/** What is given away and what there is, of the whole cell as its scheduler sees it. */
export interface CellView {
  readonly cpuMilliTotal: number;
  readonly memoryMibTotal: number;
  readonly cpuMilliUsed: number;
  readonly memoryMibUsed: number;
}

/** Adds a private copy up: the specialised scheduler sees the whole cell, as any other does. */
export function viewOf(
  copy: FreeCapacity,
  totals: Pick<CellView, 'cpuMilliTotal' | 'memoryMibTotal'>,
): CellView {
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
export function mostOf(policy: ElasticPolicy, { workers }: ElasticJob, { activities }: Phase): number {
  switch (policy) {
    case 'as-asked':
      return Math.min(workers, activities);
    case 'relative-job-size':
      return Math.min(RELATIVE_CAP * workers, activities);
    case 'max-parallelism':
    case 'global-cap':
      return activities;
  }
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
  cell: CellView,
): number {
  const most = mostOf(policy, job, phase);
  if (policy !== 'global-cap') return most;
  return Math.max(Math.min(job.workers, most), Math.min(most, has + belowCap(job, cell)));
}

/** So many more workers bring the cell up to the cap: by cpu or by memory, whichever is nearer to it. */
function belowCap({ worker }: ElasticJob, cell: CellView): number {
  const byCpu = (GLOBAL_CAP * cell.cpuMilliTotal - cell.cpuMilliUsed) / worker.cpuMilli;
  const byMemory = (GLOBAL_CAP * cell.memoryMibTotal - cell.memoryMibUsed) / worker.memoryMib;
  return Math.max(0, Math.floor(Math.min(byCpu, byMemory)));
}
