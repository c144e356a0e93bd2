import type { CellState } from '../cell-state/cell-state.ts';
import type { Chance } from '../random/chance.ts';
import type { HostRefusal } from './filters.ts';
import { CHECKS, isRefusal, tryHost } from './filters.ts';
import { HeldCount } from './held-count.ts';
import type { PlacementRequest } from './placement-request.ts';

export type { HostRefusal } from './filters.ts';

/** Why hosts do not take one more allocation of a group. Hosts that would take it are in `hostsTotal` only. */
export interface Explanation {
  /** At most `EXPLAIN_HOSTS_MAX`; the nearest miss first. */
  readonly hosts: readonly HostRefusal[];
  readonly hostsTotal: number;
  /** How many hosts each check refused, commonest first. */
  readonly refusals: readonly { readonly check: string; readonly hosts: number }[];
}

/** A person reads no more rows; the counts cover the rest. */
export const EXPLAIN_HOSTS_MAX = 50;

/** An explanation gives no port away, so it needs no chance: it looks from the start of each range. */
const NO_CHANCE: Chance = { fraction: () => 0, below: () => 0 };

/**
 * Asks every host in turn, which costs a walk over the cell: for answering a person, not for each failed try.
 *
 * Nearest miss: failed the latest check; among those, lacks the smallest part of what was needed.
 */
export function explain(state: CellState, request: PlacementRequest): Explanation {
  const held = new HeldCount(request.group);
  for (const { id } of request.hostsHeld) {
    const host = state.hostOf(id);
    if (host !== undefined) held.add(host);
  }
  const refusals: HostRefusal[] = [];
  const counts = new Map<string, number>();
  for (const view of state.views()) {
    const result = tryHost(view, request, held, 'fullest', NO_CHANCE);
    if (!isRefusal(result)) continue;
    refusals.push(result);
    counts.set(result.check, (counts.get(result.check) ?? 0) + 1);
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
