import type { CellState } from '../../src/core/cell-state/cell-state.ts';
import type { Explanation } from '../../src/core/placement/explain.ts';
import { explain } from '../../src/core/placement/explain.ts';
import type { PlacementRequest } from '../../src/core/placement/placement-request.ts';

/** An explanation costs a walk over the cell; one is good for this long, for all groups that ask for the same. */
export const EXPLAIN_EVERY_MS = 5_000;
/** Different requests of which the explanation is kept; the oldest goes first. */
const KEPT_MAX = 64;

/** Why groups have no place, for groups that are parked: a thousand equal tasks share one walk over the cell. */
export class Explanations {
  readonly #state: CellState;
  readonly #made = new Map<string, { readonly explanation: Explanation; readonly atMs: number }>();

  constructor(state: CellState) {
    this.#state = state;
  }

  /**
   * @param nowMs monotonic
   * @returns what explains an equal request, at most `EXPLAIN_EVERY_MS` old
   */
  of(request: PlacementRequest, nowMs: number): Explanation {
    // What other requests hold, and hosts of their own, are few and change often.
    if (request.hostsHeld.length > 0) return explain(this.#state, request);
    const key = keyOf(request);
    const known = this.#made.get(key);
    if (known !== undefined && nowMs - known.atMs < EXPLAIN_EVERY_MS) return known.explanation;
    const explanation = explain(this.#state, request);
    this.#made.delete(key);
    this.#made.set(key, { explanation, atMs: nowMs });
    for (const oldest of this.#made.keys()) {
      if (this.#made.size <= KEPT_MAX) break;
      this.#made.delete(oldest);
    }
    return explanation;
  }
}

/** All that a host's refusal depends on, beside the host and what the group holds. */
function keyOf({ group: { constraints, distinct }, ask, precedence }: PlacementRequest): string {
  return JSON.stringify([constraints, distinct, ask, precedence]);
}
