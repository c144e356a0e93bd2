import type { Chance } from './chance.ts';
import type { CellState } from './cell-state.ts';
import type { HostView } from './filters.ts';
import { isRefusal, tryHost } from './filters.ts';
import { HeldCount } from './held.ts';
import { withClaim } from './ledger.ts';
import type { Placement, PlacementPolicy, PlacementRequest, PlacementResult } from './placement-request.ts';
import { scoreOf } from './scores.ts';

/**
 * The plain walk: every host is asked by the filters and scored, for every allocation. Slow and obviously right; the
 * property tests hold `place` against it.
 */
export function placeByWalk(
  state: CellState,
  request: PlacementRequest,
  chance: Chance,
  policy: PlacementPolicy,
): PlacementResult {
  const views = new Map([...state.views()].map((view) => [view.host.id, view]));
  const held = new HeldCount(request.group);
  for (const id of request.hostsHeld) {
    const view = views.get(id);
    if (view !== undefined) held.add(view.host);
  }
  const chosen: Placement[] = [];
  while (chosen.length < request.count) {
    const place = bestPlace(state, [...views.values()], request, held, chance, policy);
    if (place === null) break;
    chosen.push(place);
    const view = views.get(place.host);
    if (view === undefined) throw new Error(`placed on ${place.host}, which is not in the cell`);
    held.add(view.host);
    views.set(place.host, { ...view, ledger: withPlace(view, request, place) });
  }
  return { chosen, unplaced: request.count - chosen.length };
}

/** Every host that fits now, with its score: what a shortcut's pick is measured against. */
export function rankByWalk(
  state: CellState,
  request: PlacementRequest,
  policy: PlacementPolicy,
): Map<string, number> {
  const held = new HeldCount(request.group);
  for (const id of request.hostsHeld) {
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

function bestPlace(
  state: CellState,
  views: readonly HostView[],
  request: PlacementRequest,
  held: HeldCount,
  chance: Chance,
  policy: PlacementPolicy,
): Placement | null {
  const wanted = views.filter((view) => !request.avoidHosts.includes(view.host.id));
  const avoided = views.filter((view) => request.avoidHosts.includes(view.host.id));
  for (const part of [wanted, avoided]) {
    let best: Placement | null = null;
    let bestScore = -Infinity;
    const start = part.length === 0 ? 0 : chance.below(part.length);
    for (const view of [...part.slice(start), ...part.slice(0, start)]) {
      const order = policy.score === 'spread' ? 'emptiest' : 'fullest';
      const place = tryHost(view, request, held, order, chance);
      if (isRefusal(place)) continue;
      const score = scoreOf(view, request, held, policy, state.scale);
      if (score > bestScore) [best, bestScore] = [place, score];
    }
    if (best !== null) return best;
  }
  return null;
}

function withPlace(view: HostView, request: PlacementRequest, place: Placement): HostView['ledger'] {
  const { precedence, ask } = request;
  return withClaim(view.ledger, { id: '', precedence, resources: ask.resources, ...place });
}
