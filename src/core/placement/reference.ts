import type { Chance } from '../random/chance.ts';
import type { CellState } from '../cell-state/cell-state.ts';
import { isRefusal, tryHost } from './filters.ts';
import { HeldCount } from './held-count.ts';
import { lossRuleOf } from '../scoring/fragmentation.ts';
import type { PlacementPolicy, PlacementRequest } from './placement-request.ts';
import type { FreeDevices, Kept } from '../scoring/model-demand.ts';
import { NOTHING_KEPT } from '../scoring/model-demand.ts';
import { GPU_MILLI_PER_DEVICE } from '../cell/resources.ts';
import { scoreOf } from '../scoring/scoring.ts';

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
