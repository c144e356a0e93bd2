import { lossRuleOf } from './fragmentation.ts';
import { attributeOf, meets, plainAttribute } from '../host/attributes.ts';
import type { Held, HostView } from '../placement/filters.ts';
import type { Group } from '../cell/job.ts';
import { freeOf } from '../fit/ledger.ts';
import type { Kept } from './model-demand.ts';
import type { PlacementPolicy, PlacementRequest, ScoreName } from '../placement/placement-request.ts';
import { GPU_MILLI_PER_DEVICE } from '../cell/resources.ts';
import { filling } from '../cell-state/spread-shares.ts';

/**
 * The largest amounts that any host of the cell gives away: what makes millicores, MiB and GPUs comparable. Taken over
 * the cell and not per host, so that a small full host and a large full host count by what is left on them.
 */
export interface Scale {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpuMilli: number;
}

/** What would be left on a host after the allocation. */
export interface Left {
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

/** The unused part of a host, 0 (full) to 1 (as empty as the largest host). */
export function emptiness(left: Left, weights: LeftWeights): number {
  return left.cpuMilli * weights.cpu + left.memoryMib * weights.memory + left.gpuMilli * weights.gpu;
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

/** What the group's wishes add, whatever the load: affinities and spread. */
export function wishScore(view: HostView, group: Group, held: Held): number {
  let score = 0;
  for (const { expression, weight } of group.affinities) {
    if (meets(view.host, expression)) score += weight / WEIGHT_FULL;
  }
  for (const [at, { attribute, weight }] of group.spread.entries()) {
    const counts = held.byValue.get(plainAttribute(attribute));
    const value = attributeOf(view.host, attribute);
    const shares = held.shares?.[at] ?? null;
    const cost = shares === null ? spreadCost(counts, value) : targetCost(counts, value, shares);
    score -= (weight / WEIGHT_FULL) * cost;
  }
  return score;
}

/** A weight of 100 outweighs the whole range of the load. */
export const WEIGHT_FULL = 100;

/**
 * How many allocations of the group share the value. A host without the attribute counts as one more than the fullest
 * value, so that it comes last.
 */
function spreadCost(counts: ReadonlyMap<string, number> | undefined, value: string | undefined): number {
  if (counts === undefined) return 0;
  if (value !== undefined) return counts.get(value) ?? 0;
  return Math.max(0, ...counts.values()) + 1;
}

/** How far the value is filled. One without a part counts as one more than the fullest. */
function targetCost(
  counts: ReadonlyMap<string, number> | undefined,
  value: string | undefined,
  shares: ReadonlyMap<string, number>,
): number {
  const own = value === undefined ? undefined : shares.get(value);
  if (own !== undefined) return filling(counts?.get(value ?? '') ?? 0, own);
  return Math.max(0, ...[...shares].map(([name, share]) => filling(counts?.get(name) ?? 0, share))) + 1;
}

/** The whole score of a host for one more allocation: more is better. */
export function scoreOf(
  view: HostView,
  request: PlacementRequest,
  held: Held,
  policy: PlacementPolicy,
  { scale, kept }: { readonly scale: Scale; readonly kept: Kept },
): number {
  const empty = emptiness(leftOn(view, request), leftWeights(scale));
  const load = loadOn(view, request, policy, { empty, kept });
  const company = held.byHost.get(view.host.id) ?? 0;
  return load + wishScore(view, request.group, held) - company * policy.sameHostCost;
}

function loadOn(
  view: HostView,
  { ask }: PlacementRequest,
  policy: PlacementPolicy,
  { empty, kept }: { readonly empty: number; readonly kept: Kept },
): number {
  const rule = lossRuleOf(policy);
  if (rule === null) return loadScore(policy.score, empty);
  const { host, ledger } = view;
  const usedMilli = host.gpuModels.map((_, device) => ledger.gpuMilli[device] ?? 0);
  const { cpuMilli } = freeOf(host, ledger);
  const state = { cpuMilli, models: host.gpuModels, usedMilli };
  const loss = rule.leastLoss(state, ask.resources.cpuMilli, ask.gpu, kept);
  return gpuLossScore(loss?.lossMilli ?? 0, empty);
}

function leftOn({ host, ledger }: HostView, { ask }: PlacementRequest): Left {
  const free = freeOf(host, ledger);
  const freeGpu = host.gpuModels.reduce(
    (sum, _, device) => sum + Math.max(0, GPU_MILLI_PER_DEVICE - (ledger.gpuMilli[device] ?? 0)),
    0,
  );
  const askedGpu = ask.gpu === null ? 0 : ask.gpu.count * ask.gpu.milliEach;
  return {
    cpuMilli: free.cpuMilli - ask.resources.cpuMilli,
    memoryMib: free.memoryMib - ask.resources.memoryMib,
    gpuMilli: freeGpu - askedGpu,
  };
}
