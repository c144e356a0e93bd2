import { CellState } from '../cell-state/cell-state.ts';
import { PoolBook } from '../quota/pool-book.ts';
import { NO_CHANCE } from '../random/chance.ts';
import type { PlacementPolicy } from '../scoring/policy.ts';
import { place } from './placement.ts';
import type { PlacementRequest } from './placement-request.ts';

/** Beyond so many, nobody waits for the count. */
export const FITS_COUNT_MAX = 10_000;

/** How many allocations of a group find a place, all at once. */
export interface Fits {
  /** Of those that wait, beside what runs now. */
  readonly now: number;
  /** As many were looked for. */
  readonly pending: number;
  /** Of the whole group, if nothing else ran and all hosts took work: capacity, not use. */
  readonly whenEmpty: number;
  /** As many were looked for. */
  readonly count: number;
}

/** For a user's question: it searches the cell twice, once without what runs there. */
export function fits(state: CellState, request: PlacementRequest, policy: PlacementPolicy): Fits {
  const pending = Math.min(request.count, FITS_COUNT_MAX);
  const count = Math.min(request.group.count, FITS_COUNT_MAX);
  const whole = { ...request, count, hostsHeld: [] };
  return {
    now: place(state, { ...request, count: pending }, NO_CHANCE, policy).chosen.length,
    pending,
    whenEmpty: place(emptied(state, whole), whole, NO_CHANCE, policy).chosen.length,
    count,
  };
}

/** The same hosts, with nothing on them. */
function emptied(state: CellState, { ask }: PlacementRequest): CellState {
  const pools = new PoolBook();
  for (const name in ask.shared) {
    const { resource } = state.pools.resource(name);
    if (resource !== null) pools.define(name, resource, 1);
  }
  const empty = new CellState(() => undefined, pools);
  for (const { host } of state.views()) {
    empty.setHost(host);
    empty.setAlive(host.id, true);
  }
  return empty;
}
