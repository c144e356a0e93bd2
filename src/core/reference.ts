import type { Chance } from './chance.ts';
import type { CellState } from './cell-state.ts';
import { isRefusal, tryHost } from './filters.ts';
import { HeldCount } from './held.ts';
import type { PlacementPolicy, PlacementRequest } from './placement-request.ts';
import { scoreOf } from './scores.ts';

/**
 * The plain walk: every host is asked by the filters and scored. Slow and obviously right; what `place` picks is held
 * against it.
 *
 * @returns the score of every host that fits one more allocation
 */
export function rankByWalk(
  state: CellState,
  request: PlacementRequest,
  policy: PlacementPolicy,
): Map<string, number> {
  const held = new HeldCount(request.group);
  for (const { id } of request.hostsHeld) {
    const host = state.hostOf(id);
    if (host !== undefined) held.add(host);
  }
  const scores = new Map<string, number>();
  const chance: Chance = { fraction: () => 0, below: () => 0 };
  for (const view of state.views()) {
    if (isRefusal(tryHost(view, request, held, 'fullest', chance))) continue;
    scores.set(view.host.id, scoreOf(view, request, held, policy, state.scale));
  }
  return scores;
}
