import { filling } from '../../src/core/cell-state/spread-shares.ts';
import type { Host } from '../../src/core/host/host.ts';
import { refusalOf } from '../../src/core/placement/filters.ts';
import type { CellState, HostSnapshot } from '../../src/core/cell-state/cell-state.ts';
import type { Group } from '../../src/core/cell/job.ts';
import { classScalar } from '../../src/core/cell/interference.ts';
import { WEIGHT_FULL } from '../../src/core/cell/job.ts';
import { GPU_MILLI_PER_DEVICE } from '../../src/core/cell/resources.ts';
import { freeOf, usedOf } from '../../src/core/fit/ledger.ts';
import { attributeOf, meets, plainAttribute } from '../../src/core/host/attributes.ts';
import { lossRuleOf } from '../../src/core/scoring/fragmentation.ts';
import type { FreeDevices, Kept } from '../../src/core/scoring/model-demand.ts';
import { NOTHING_KEPT } from '../../src/core/scoring/model-demand.ts';
import type { PlacementPolicy } from '../../src/core/scoring/policy.ts';
import type { LeftWeights, Scale } from '../../src/core/scoring/scoring.ts';
import { gpuLossScore, leftWeights, loadScore } from '../../src/core/scoring/scoring.ts';
import type { PlacementRequest } from '../../src/core/placement/placement-request.ts';

/**
 * The plain walk: every host goes through the filters and is scored. Slow and obviously right; the tests compare what
 * `place` picks with it.
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
  const around = neighboursByWalk(state);
  for (const view of state.views()) {
    if (refusalOf(view, request, held.byValue) !== null) continue;
    const score = scoreOf(view, request, held, policy, { scale: state.scale, kept });
    scores.set(view.host.id, score + nearScore(view.host, request.group, around));
  }
  return scores;
}

/** The hosts with something of a class. */
type HostsWith = (name: string) => readonly Host[];

function neighboursByWalk(state: CellState): HostsWith {
  const views = [...state.views()];
  return (name) =>
    views
      .filter(({ ledger }) => (usedOf(ledger).scalars[classScalar(name)] ?? 0) > 0)
      .map(({ host }) => host);
}

/** What the neighbours add that the group is drawn to. */
function nearScore(host: Host, { near = [] }: Group, hostsWith: HostsWith): number {
  let score = 0;
  for (const { class: name, over = 'id', weight } of near) {
    const value = attributeOf(host, over);
    if (value !== undefined && hostsWith(name).some((other) => attributeOf(other, over) === value))
      score += weight / WEIGHT_FULL;
  }
  return score;
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
function scoreOf(
  view: HostSnapshot,
  request: PlacementRequest,
  held: HeldCount,
  policy: PlacementPolicy,
  { scale, kept }: { readonly scale: Scale; readonly kept: Kept },
): number {
  const empty = emptiness(leftOn(view, request), leftWeights(scale));
  const load = loadOn(view, request, policy, { empty, kept });
  const company = held.byHost.get(view.host.id) ?? 0;
  const warmth = view.pools.warmthOn(view.host, request.ask.shared);
  return load + preferenceScore(view, request.group, held) - company * policy.sameHostCost - warmth;
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
interface Left {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpuMilli: number;
}

/** The unused part of a host, 0 (full) to 1 (as empty as the largest host). */
function emptiness(left: Left, weights: LeftWeights): number {
  return left.cpuMilli * weights.cpu + left.memoryMib * weights.memory + left.gpuMilli * weights.gpu;
}

/** What the group's preferences add, whatever the load: affinities and spread. */
function preferenceScore(view: HostSnapshot, group: Group, held: HeldCount): number {
  let score = 0;
  for (const { expression, weight } of group.affinities) {
    if (meets(view.host, expression)) score += weight / WEIGHT_FULL;
  }
  for (const [at, { attribute, weight }] of group.spread.entries()) {
    const counts = held.byValue.get(plainAttribute(attribute));
    const value = attributeOf(view.host, attribute);
    const shares = held.shares[at] ?? null;
    const cost = shares === null ? spreadCost(counts, value) : targetCost(counts, value, shares);
    score -= (weight / WEIGHT_FULL) * cost;
  }
  return score;
}

/** What a group holds, counted by host and by the values of its `distinct` and `spread` attributes. */
export class HeldCount {
  readonly byHost = new Map<string, number>();
  readonly byValue = new Map<string, Map<string, number>>();
  readonly shares: readonly (ReadonlyMap<string, number> | null)[];

  /** @param shares as the selection has them; needed where the group's spread has targets */
  constructor(group: Group, shares: readonly (ReadonlyMap<string, number> | null)[] = []) {
    this.shares = shares;
    for (const name of [...group.distinct, ...group.spread.map((spread) => spread.attribute)])
      this.byValue.set(plainAttribute(name), new Map());
  }

  add(host: Host): void {
    this.byHost.set(host.id, (this.byHost.get(host.id) ?? 0) + 1);
    for (const [name, counts] of this.byValue) {
      const value = attributeOf(host, name);
      if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
  }
}
