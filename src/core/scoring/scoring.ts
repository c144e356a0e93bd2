import type { ScoreName } from './policy.ts';
import { GPU_MILLI_PER_DEVICE } from '../cell/resources.ts';

/**
 * The largest amounts that any host of the cell gives away: what makes millicores, MiB and GPUs comparable. Taken over
 * the cell and not per host, so that a small full host and a large full host count by what is left on them.
 */
export interface Scale {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpuMilli: number;
}

/** How the dimensions count in the load; a cell without GPUs divides by the rest. */
export const LOAD_WEIGHTS = { cpu: 1, memory: 1, gpu: 2 } as const;

/** What one millicore, one MiB and one GPU thousandth left on a host count: over the largest host they add up to 1. */
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

/** The load's part of the score, 0 to 1: more is better. */
export function loadScore(score: ScoreName, empty: number): number {
  if (score === 'random') return 0;
  return score === 'spread' ? empty : 1 - empty;
}

/**
 * The load's part of the score under `fgd`, 0 to 1: the logistic curve of the loss as in the paper, and where losses
 * are equal, as they often are, the fuller host.
 */
export function gpuLossScore(lossMilli: number, empty: number): number {
  const curve = 1 / (1 + Math.exp(lossMilli / GPU_MILLI_PER_DEVICE));
  return (curve + TIE_WEIGHT * (1 - empty)) / (1 + TIE_WEIGHT);
}

/** The published scores are whole hundredths; within one of those, the fuller host may win. */
const TIE_WEIGHT = 0.01;
