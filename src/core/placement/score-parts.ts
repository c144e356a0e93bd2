import type { CellState } from '../cell-state/cell-state.ts';
import type { Claim } from '../cell/claim.ts';
import type { PlacementPolicy } from '../scoring/policy.ts';
import { GroupCount } from './group-count.ts';
import type { ScoreParts } from './host-scorer.ts';
import { HostScorer } from './host-scorer.ts';
import { readForNeighbours } from './neighbourhood.ts';
import type { PlacementRequest } from './placement-request.ts';

/**
 * The whole scores of single hosts, which a search for the best one never adds up.
 * @returns for each host; null: it does not take the allocation
 * @throws PolicyError when a policy of somebody's own does
 */
export function scorePartsOf(
  state: CellState,
  request: PlacementRequest,
  policy: PlacementPolicy,
  hosts: readonly string[],
): readonly (ScoreParts | null)[] {
  readForNeighbours(state, request);
  const selection = state.selections.for(request);
  const group = new GroupCount(state, selection, request, policy);
  const scorer = new HostScorer(state, request, policy, selection, group);
  return hosts.map((id) => {
    const host = state.indexOf(id);
    return host < 0 ? null : scorer.partsOf(host);
  });
}

/** @returns what the question answers while the claim's place is free */
export function withoutClaim<T>(state: CellState, claim: Claim, question: () => T): T {
  state.lift(claim);
  try {
    return question();
  } finally {
    state.putBack(claim);
  }
}
