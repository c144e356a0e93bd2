/**
 * The observed states, ranked: a report with a lower rank than one already seen is late and is dropped. Terminal states
 * share one rank, since an end never changes. The gaps are for later states.
 */
export const OBSERVED_RANK = {
  assigned: 0,
  accepted: 10,
  preparing: 20,
  starting: 30,
  running: 40,
  stopping: 50,
  complete: 90,
  failed: 90,
  killed: 90,
  rejected: 90,
  lost: 90,
} as const;

export type ObservedState = keyof typeof OBSERVED_RANK;

export const OBSERVED_STATES = Object.keys(OBSERVED_RANK) as readonly ObservedState[];

const TERMINAL_RANK = 90;

export function isTerminal(state: ObservedState): boolean {
  return OBSERVED_RANK[state] === TERMINAL_RANK;
}

/** May an allocation go from one state to the other? Forward only; a terminal state never changes (I8). */
export function mayMove(from: ObservedState, to: ObservedState): boolean {
  return !isTerminal(from) && OBSERVED_RANK[to] > OBSERVED_RANK[from];
}
