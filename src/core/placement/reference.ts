import { filling } from '../cell-state/spread-shares.ts';
import type { CellState, HostSnapshot } from '../cell-state/cell-state.ts';
import type { Group } from '../cell/job.ts';
import { WEIGHT_FULL } from '../cell/job.ts';
import { GPU_MILLI_PER_DEVICE } from '../cell/resources.ts';
import { freeOf } from '../fit/ledger.ts';
import { attributeOf, meets, plainAttribute } from '../host/attributes.ts';
import type { Chance } from '../random/chance.ts';
import { lossRuleOf } from '../scoring/fragmentation.ts';
import type { FreeDevices, Kept } from '../scoring/model-demand.ts';
import { NOTHING_KEPT } from '../scoring/model-demand.ts';
import type { PlacementPolicy } from '../scoring/policy.ts';
import type { LeftWeights, Scale } from '../scoring/scoring.ts';
import { gpuLossScore, leftWeights, loadScore } from '../scoring/scoring.ts';
import type { Held } from './filters.ts';
import { isRefusal, tryHost } from './filters.ts';
import { HeldCount } from './held-count.ts';
import type { PlacementRequest } from './placement-request.ts';

/**
 * The plain walk: every host is asked by the filters and scored. Slow and obviously right; what `place` picks is held
 * against it.
 *
 * @param kept devices kept for others, which a decision reckons once, before its first place
 * @returns the score of every host that fits one more allocation
 */
export function rankByWalk(
  state: CellState,
  request: PlacementRequest,
  policy: PlacementPolicy,
  kept = keptByWalk(state, request, policy),
): Map<string, number> {
  const held = new HeldCount(request.group, state.selections.for(request).shares);
  for (const { id } of request.hostsHeld) {
    const host = state.hostOf(id);
    if (host !== undefined) held.add(host);
  }
  const scores = new Map<string, number>();
  const chance: Chance = { fraction: () => 0, below: () => 0 };
  for (const view of state.views()) {
    if (isRefusal(tryHost(view, request, held, 'fullest', chance))) continue;
    scores.set(view.host.id, scoreOf(view, request, held, policy, { scale: state.scale, kept }));
  }
  return scores;
}

/** What is kept from the request of each model, all hosts counted anew. */
export function keptByWalk(state: CellState, { ask }: PlacementRequest, policy: PlacementPolicy): Kept {
  return lossRuleOf(policy)?.keptFrom(ask.gpu, freeByWalk(state)) ?? NOTHING_KEPT;
}

function freeByWalk(state: CellState): FreeDevices {
  const free = new Map<string, number>();
  let totalMilli = 0;
  for (const { host, ledger, alive } of state.views()) {
    if (!alive || ledger.state !== 'ready') continue;
    for (const [device, model] of host.gpuModels.entries()) {
      const milli = Math.max(0, GPU_MILLI_PER_DEVICE - (ledger.gpuMilli[device] ?? 0));
      free.set(model, (free.get(model) ?? 0) + milli);
      totalMilli += milli;
    }
  }
  return { totalMilli, freeMilli: (model) => free.get(model) ?? 0 };
}

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
  view: HostSnapshot,
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
  view: HostSnapshot,
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

function leftOn({ host, ledger }: HostSnapshot, { ask }: PlacementRequest): Left {
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

/** What would be left on a host after the allocation. */
export interface Left {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpuMilli: number;
}

/** The unused part of a host, 0 (full) to 1 (as empty as the largest host). */
export function emptiness(left: Left, weights: LeftWeights): number {
  return left.cpuMilli * weights.cpu + left.memoryMib * weights.memory + left.gpuMilli * weights.gpu;
}

/** What the group's wishes add, whatever the load: affinities and spread. */
export function wishScore(view: HostSnapshot, group: Group, held: Held): number {
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
