import type { Ask } from '../cell/ask.ts';
import type { Host } from '../host/host.ts';
import type { TaskMix } from './fragmentation.ts';

/**
 * `binpack`: the fullest host that fits. `spread`: the emptiest. `random`: any that fits (randomised first fit).
 * `fgd`: the host whose GPUs become least useless for the expected mix of tasks (fragmentation gradient descent), with
 * the demand for its models counted (`ModelDemand`). `docs/decisions/gpu-packing.md`
 */
export type ScoreName = 'binpack' | 'spread' | 'random' | 'fgd';

export interface PlacementPolicy {
  readonly name: string;
  readonly score: ScoreName;
  /**
   * How many fitting hosts are scored for one decision, drawn at random; `Infinity`: all. With a sample of k, the pick is
   * worse than the best q-th part of the fitting hosts with a probability of about (1 − q)^k; when at most k hosts fit it
   * is the best. A scheduler beside others draws from its own part of the hosts while one fits there.
   */
  readonly sample: number;
  /**
   * The cost of another allocation of the same group on the host, in units of the load score's range. It keeps the copies
   * of a service apart without `distinct`.
   */
  readonly sameHostCost: number;
  /** The tasks that `fgd` expects; absent: it packs like `binpack`. */
  readonly mix?: TaskMix | undefined;
  /** A policy of somebody's own: it takes the place of the load's part of the score. */
  readonly scoreHost?: ScoreHost;
}

/** A host that takes the allocation, and what is free there before it does. */
export interface ScoredHost {
  readonly host: Host;
  readonly free: { readonly cpuMilli: number; readonly memoryMib: number; readonly gpuMilli: number };
}

/** What is to be placed: one more allocation of this group. */
export interface ScoredWork {
  readonly namespace: string;
  readonly job: string;
  readonly group: string;
  readonly ask: Ask;
}

/**
 * How good the host is, from 0 to 1; the best one of the sample is chosen. It is asked for hosts that fit alone, a thousand
 * times in a decision, and must depend on nothing but what it is given: with the same cell, the same answer. When it throws,
 * the group waits with that as its reason and is tried again; other jobs go on.
 */
export type ScoreHost = (host: ScoredHost, work: ScoredWork) => number;

/** A policy of somebody's own threw. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError';
}

/** Fills hosts up: for batch work. */
export const BINPACK: PlacementPolicy = { name: 'binpack', score: 'binpack', sample: 32, sameHostCost: 0 };

/** Fills hosts up, but keeps the copies of one group apart where it can: for services. */
export const SERVICE: PlacementPolicy = { name: 'service', score: 'binpack', sample: 32, sameHostCost: 1 };

/** Levels the load. */
export const LEVEL: PlacementPolicy = { name: 'level', score: 'spread', sample: 32, sameHostCost: 0 };

/** The simulator's randomised first fit: the first host that fits, from a random start. */
export const RANDOM_FIT: PlacementPolicy = {
  name: 'random-fit',
  score: 'random',
  sample: 1,
  sameHostCost: 0,
};

/** Keeps GPUs usable for the tasks of the mix. Here a larger sample gains more than its cost. */
export function keepGpusWhole(mix: TaskMix): PlacementPolicy {
  return { name: 'fgd', score: 'fgd', sample: 128, sameHostCost: 0, mix };
}
