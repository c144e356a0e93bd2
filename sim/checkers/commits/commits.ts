/**
 * The shared state at every revision. This file puts together the checkers that need the revisions alone; `moorage check` runs them on a real store.
 *
 * - `allocation-life.ts`: an allocation's record through time (I4, I8, I12); `slot-attempts.ts`: the attempts at a slot (I22)
 * - `gangs.ts`: a gang stands whole or not at all (I6); `distinct.ts`: no two of a group share what `distinct` names
 * - `closed-hosts.ts`: nothing is placed on a closed host (I62); `available.ts`: nobody is stopped below what an update leaves (I63); `retries.ts`: a claim is refused a bounded number of times (I11)
 * - `drained-slots.ts`: what no drain moves stays on its host (S0.1)
 * - `surplus.ts`: what an elastic group has above its minimum is below everybody (I71)
 * - `fenced.ts`: what wants a fence is not replaced before one has confirmed (I72)
 * - `moves.ts`: what is moved was asked for (S0.38)
 * - `remedies.ts`: remedies keep to the share of each pool and to the budget of the cell (I75)
 * - `budgets.ts`: what the cell does of its own accord has its tokens (I76); `earlier-hosts.ts`: what hosts were before, as who acts may know them still
 * - `duplicates.ts`: of a pair of duplicates one is left (S0.14)
 * - `host-listings.ts`: what hosts list was committed to them (I13)
 */
import type { CellKeys } from '../../../src/core/cell/keys.ts';
import type { Change } from '../../../src/ports/cell-store.ts';
import { AllocationLifeChecker } from './allocation-life.ts';
import type { CellAt, Step } from '../replay/replay.ts';
import { CellReplay } from '../replay/replay.ts';
import { HostResourceChecker } from '../resources/resources.ts';
import { checkKeyOwners } from '../store/key-owners.ts';
import { PoolChecker } from '../resources/pools.ts';
import { SlotAttemptsChecker } from './slot-attempts.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * The invariants of the shared state that need nothing but its revisions: I1, I2, I3, I4, I7, I8, I12, I22 and I74. Both the
 * history of a real store (`moorage check`) and that of a simulated run go through here.
 */
export class SharedStateChecker {
  readonly lives = new AllocationLifeChecker();
  readonly #replay: CellReplay;
  readonly #rooms = new HostResourceChecker();
  readonly #pools = new PoolChecker();
  readonly #attempts = new SlotAttemptsChecker();
  readonly #findings: Findings;

  constructor(keys: CellKeys, findings: Findings) {
    this.#replay = new CellReplay(keys);
    this.#findings = findings;
  }

  get cell(): CellAt {
    return this.#replay.cell;
  }

  /** @param initial the state at the beginning of the history, all at once */
  apply(revision: number, changes: readonly Change[], initial = false): Step {
    const step = this.#replay.apply(revision, changes, initial);
    this.#rooms.check(step, this.cell, this.#findings);
    this.#pools.check(step, this.cell, this.#findings);
    this.lives.check(step, this.cell, this.#findings);
    this.#attempts.check(step, this.cell, this.#findings);
    checkKeyOwners(step, this.cell, this.#findings);
    return step;
  }
}
