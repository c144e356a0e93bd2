import type { Claim } from '../../src/core/cell/claim.ts';
import type { Group } from '../../src/core/cell/job.ts';
import { CellState } from '../../src/core/cell-state/cell-state.ts';
import type { KnownLedger } from '../../src/core/commit/ledger-book.ts';
import type { Ledger } from '../../src/core/fit/ledger.ts';
import { EMPTY_LEDGER, holdsUse, withoutPorts, withoutUse } from '../../src/core/fit/ledger.ts';
import type { Host } from '../../src/core/host/host.ts';
import type { HostCondition, MatchingHost } from '../../src/core/slots/job-view.ts';
import { matchingIn } from '../state/cell.ts';
import type { DecidedCell } from '../state/state.ts';
import type { TimeSlice } from '../../src/runtime/wait/time-slice.ts';

/** No ledger of the copy comes from the store. */
const REVISION = 1;

/**
 * A copy of the private cell, on which a plan is decided. What this scheduler has in flight counts in its ledgers; nothing
 * of it is seen by the cell that it was copied from.
 */
export class ScratchCell implements DecidedCell {
  readonly state: CellState;
  readonly book = { get: (host: string): KnownLedger => this.#known(host) };
  readonly #real: DecidedCell;
  readonly #lost = new Set<string>();
  /** Claims that were freed, by id: an allocation that is preempted and then released frees its place once. */
  readonly #freed = new Map<string, Claim>();
  readonly #placed = new Map<string, Claim>();
  /** What other schedulers' plans freed, by id. */
  readonly #gone = new Set<string>();
  /** Placements of other schedulers, by id. */
  readonly #taken = new Set<string>();
  /** Without the claims that were assumed here. */
  readonly #ledgers = new Map<string, Ledger>();

  private constructor(real: DecidedCell) {
    this.#real = real;
    this.state = new CellState(undefined, real.state.pools.copy());
  }

  /** @param slice yields to the event loop between hosts: a large cell takes long to copy */
  static async of(real: DecidedCell, slice: TimeSlice): Promise<ScratchCell> {
    const copy = new ScratchCell(real);
    const views = [...real.state.views()];
    for (const { host, ledger, alive, paused } of views) {
      copy.state.setHost(host);
      copy.#setLedger(host.id, ledger);
      copy.state.setAlive(host.id, alive);
      copy.state.setPaused(host.id, paused);
      if (slice.step()) await slice.yield();
    }
    return copy;
  }

  /** The silence of a lost host is taken as long enough for all that waits for it, and itself for fenced. */
  condition(host: string): HostCondition {
    if (!this.#lost.has(host)) return this.#real.condition(host);
    return { state: 'lost', drainDeadlineMs: null, cutOffMs: Number.POSITIVE_INFINITY, fences: 'all' };
  }

  eligibilityRevision(host: string): number {
    return this.#real.eligibilityRevision(host);
  }

  matching(group: Group): readonly MatchingHost[] {
    return matchingIn(this.state, group);
  }

  /** Nothing comes from the store. */
  syncLedger(): void {
    // Its ledgers are its own.
  }

  lose(host: string): void {
    this.#lost.add(host);
    this.#setLedger(host, { ...this.#ledgerOf(host), state: 'lost' });
    this.state.setAlive(host, false);
  }

  add(host: Host): void {
    this.state.setHost(host);
    this.#setLedger(host.id, EMPTY_LEDGER);
    this.state.setAlive(host.id, true);
  }

  /** A placement of another scheduler. */
  take(claim: Claim): void {
    this.#taken.add(claim.id);
    this.state.assume(claim);
  }

  /** A decision of this plan, assumed by it already. */
  placed(claim: Claim): void {
    this.#placed.set(claim.id, claim);
  }

  /** Its place is free; nothing when it was freed before. */
  free(claim: Claim): void {
    if (this.#freed.has(claim.id) || this.#gone.has(claim.id)) return;
    if (this.#placed.delete(claim.id) || this.#taken.delete(claim.id)) {
      this.state.forget(claim);
      return;
    }
    this.#freed.set(claim.id, claim);
    this.#subtract(claim);
  }

  /** The same of what another plan freed: no change of this one. */
  freeBefore(claim: Claim): void {
    this.#gone.add(claim.id);
    this.#subtract(claim);
  }

  #subtract(claim: Claim): void {
    const ledger = this.#ledgerOf(claim.host);
    // What is preempted already has given its amounts away, and holds its ports.
    const left = holdsUse(ledger, claim) ? withoutUse(ledger, claim) : ledger;
    this.#setLedger(claim.host, withoutPorts(left, claim));
    if (claim.shared !== undefined) this.state.pools.assume(claim.shared, -1);
  }

  /** Has the allocation given its place up, here only? */
  isFree(allocation: string): boolean {
    return this.#freed.has(allocation) || this.#gone.has(allocation);
  }

  /** What this plan would place, and what it would free of what there is. */
  changes(): { readonly placed: readonly Claim[]; readonly freed: readonly Claim[] } {
    return { placed: [...this.#placed.values()], freed: [...this.#freed.values()] };
  }

  #known(host: string): KnownLedger {
    return { ledger: this.#ledgerOf(host), revision: REVISION };
  }

  #ledgerOf(host: string): Ledger {
    return this.#ledgers.get(host) ?? this.#real.book.get(host).ledger;
  }

  #setLedger(host: string, ledger: Ledger): void {
    this.#ledgers.set(host, ledger);
    this.state.setLedger(host, ledger, REVISION);
  }
}
