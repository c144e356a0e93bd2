import type { Chance } from '../../../src/core/random/chance.ts';
import type { Distribution } from '../workload/distribution.ts';
import { draw } from '../workload/distribution.ts';
import type { TaskShape } from '../workload/workload.ts';

/**
 * A MapReduce job: activities of two phases, done by workers one after the other. How many workers it gets decides only how
 * long it takes.
 */
export interface ElasticJob {
  readonly id: number;
  readonly submitSeconds: number;
  /** As its owner configured it. */
  readonly workers: number;
  readonly worker: TaskShape;
  readonly map: Phase;
  readonly reduce: Phase;
}

/** So many activities that can go on side by side: more workers than that are of no use. */
export interface Phase {
  readonly activities: number;
  /** Of one activity. */
  readonly seconds: number;
}

export interface ElasticLoad {
  readonly gapSeconds: Distribution;
  readonly worker: TaskShape;
  /** As owners configure them: a few round numbers. */
  readonly workers: readonly { readonly weight: number; readonly count: number }[];
  /** Activities for each worker that was asked for; below 1 some of those have nothing to do. */
  readonly mapsPerWorker: Distribution;
  readonly reducesPerWorker: Distribution;
  /** How long the job takes with the workers that were asked for, and how much of it is mapping. */
  readonly runtimeSeconds: Distribution;
  readonly mapShare: number;
}

export function drawElasticJob(
  load: ElasticLoad,
  chance: Chance,
  id: number,
  submitSeconds: number,
): ElasticJob {
  const workers = drawWorkers(load, chance);
  const runtimeSeconds = draw(load.runtimeSeconds, chance);
  const phase = (perWorker: Distribution, share: number): Phase => {
    const activities = Math.max(1, Math.round(workers * draw(perWorker, chance)));
    return { activities, seconds: (share * runtimeSeconds * Math.min(workers, activities)) / activities };
  };
  return {
    ...{ id, submitSeconds, workers, worker: load.worker },
    map: phase(load.mapsPerWorker, load.mapShare),
    reduce: phase(load.reducesPerWorker, 1 - load.mapShare),
  };
}

function drawWorkers({ workers }: ElasticLoad, chance: Chance): number {
  let left = chance.fraction() * workers.reduce((sum, { weight }) => sum + weight, 0);
  for (const { weight, count } of workers) {
    left -= weight;
    if (left < 0) return count;
  }
  throw new Error('no number of workers has a weight');
}

/** How long a phase takes with so many workers all along: linear, as in the paper, up to one for each activity. */
export const phaseSeconds = ({ activities, seconds }: Phase, workers: number): number =>
  (activities * seconds) / Math.min(workers, activities);

/** How long the job would take with what was asked for. */
export const askedSeconds = ({ map, reduce, workers }: ElasticJob): number =>
  phaseSeconds(map, workers) + phaseSeconds(reduce, workers);
