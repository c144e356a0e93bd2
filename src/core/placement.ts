import type { CellState } from './cell-state.ts';
import type { Chance } from './chance.ts';
import type { PlacementPolicy, PlacementRequest, PlacementResult } from './placement-request.ts';
import { placeByWalk } from './reference.ts';

export * from './placement-request.ts';
export type { Chance } from './chance.ts';
export type { Explanation, HostRefusal } from './explain.ts';
export { explain } from './explain.ts';

/**
 * Chooses hosts, devices and ports for `count` allocations of a group. Pure: the state is as before when it returns;
 * the caller assumes the claims that it makes of the result.
 */
export function place(
  state: CellState,
  request: PlacementRequest,
  chance: Chance,
  policy: PlacementPolicy,
): PlacementResult {
  return placeByWalk(state, request, chance, policy);
}
