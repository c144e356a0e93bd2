/**
 * How good a fitting host is. This file has the load's part of the score; beside it:
 *
 * - `policy.ts`: the policies, which name a score and a sample size
 * - `fragmentation.ts`: how much GPU capacity a placement makes useless (`fgd`)
 * - `model-demand.ts`: which GPU models other tasks will need
 * - `learned-mix.ts`: the expected mix of tasks, from those seen so far
 *
 * What the group prefers (affinity, spread) is added in `placement/group-count.ts`.
 */
import type { ScoreName } from './policy.ts';
import { GPU_MILLI_PER_DEVICE } from '../cell/resources.ts';

/**
 * The largest allocatable amounts of any host in the cell: what makes millicores, MiB and GPUs comparable. Per cell and
 * not per host, so that small and large full hosts compare by what is left on them.
 */
export interface Scale {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpuMilli: number;
}

/** How the dimensions count; a cell without GPUs divides by the rest. */
export const LOAD_WEIGHTS = { cpu: 1, memory: 1, gpu: 2 } as const;

/** The weights of one millicore, one MiB and one GPU thousandth left on a host; over the largest host they add up to 1. */
export interface LeftWeights {
  readonly cpu: number;
  readonly memory: number;
  readonly gpu: number;
}

export function leftWeights(scale: Scale): LeftWeights {
  const gpu = scale.gpuMilli === 0 ? 0 : LOAD_WEIGHTS.gpu;
  const sum = LOAD_WEIGHTS.cpu + LOAD_WEIGHTS.memory + gpu;
  const per = (weight: number, largest: number): number => (largest <= 0 ? 0 : weight / largest / sum);
  return {
    cpu: per(LOAD_WEIGHTS.cpu, scale.cpuMilli),
    memory: per(LOAD_WEIGHTS.memory, scale.memoryMib),
    gpu: per(gpu, scale.gpuMilli),
  };
}

/** The load's part of the score, 0 to 1. @param empty the weighted part of the host that would be left */
export function loadScore(score: ScoreName, empty: number): number {
  if (score === 'random') return 0;
  return score === 'spread' ? empty : 1 - empty;
}

/**
 * The load's part of the score under `fgd`, 0 to 1: the logistic curve of the loss as in the paper; among equal losses,
 * which are common, the fuller host wins.
 */
export function gpuLossScore(lossMilli: number, empty: number): number {
  const curve = 1 / (1 + Math.exp(lossMilli / GPU_MILLI_PER_DEVICE));
  return (curve + TIE_WEIGHT * (1 - empty)) / (1 + TIE_WEIGHT);
}

/** The published scores are whole hundredths; the fuller host wins only within one of them. */
const TIE_WEIGHT = 0.01;
