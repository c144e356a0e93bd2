import type { CellState } from '../cell-state/cell-state.ts';
import type { HostRefusal } from './filters.ts';
import { CHECKS, heldValues, refusalOf } from './filters.ts';
import type { PlacementRequest } from './placement-request.ts';

/** Why hosts refuse one more allocation of a group. Hosts that would take it count in `hostsTotal` only. */
export interface Explanation {
  /** At most `EXPLAIN_HOSTS_MAX`; the nearest miss first. */
  readonly hosts: readonly HostRefusal[];
  readonly hostsTotal: number;
  /** How many hosts each filter refused, commonest first. */
  readonly refusals: readonly { readonly check: string; readonly hosts: number }[];
}

/** A user reads no more rows; the counts cover the rest. */
export const EXPLAIN_HOSTS_MAX = 50;

/**
 * Tries every host, which costs a walk over the cell: for a user's question, not for each failed placement.
 *
 * The nearest miss failed the latest filter and lacks the smallest part of what was needed.
 */
export function explain(state: CellState, request: PlacementRequest): Explanation {
  const hostsHeld = request.hostsHeld.flatMap(({ id }) => state.hostOf(id) ?? []);
  const held = heldValues(request.group, hostsHeld);
  const refusals: HostRefusal[] = [];
  const counts = new Map<string, number>();
  for (const snapshot of state.views()) {
    const refusal = refusalOf(snapshot, request, held);
    if (refusal === null) continue;
    refusals.push(refusal);
    counts.set(refusal.check, (counts.get(refusal.check) ?? 0) + 1);
  }
  return {
    hosts: refusals.sort(nearerFirst).slice(0, EXPLAIN_HOSTS_MAX),
    hostsTotal: state.size,
    refusals: [...counts].map(([check, hosts]) => ({ check, hosts })).sort((a, b) => b.hosts - a.hosts),
  };
}

function nearerFirst(a: HostRefusal, b: HostRefusal): number {
  return depth(b) - depth(a) || missing(a) - missing(b) || (a.host < b.host ? -1 : 1);
}

function depth({ check }: HostRefusal): number {
  return CHECKS.findIndex((name) => name === check);
}

/** The missing part of what was needed, 0 to 1. */
function missing({ short }: HostRefusal): number {
  return short === undefined || short.needed === 0 ? 1 : (short.needed - short.available) / short.needed;
}
