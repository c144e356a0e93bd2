import type { Claim } from '../../src/core/cell/claim.ts';
import type { Host } from '../../src/core/host/host.ts';
import type { Ledger } from '../../src/core/fit/ledger.ts';
import { fitShortfall } from '../../src/core/fit/fit.ts';
import {
  EMPTY_LEDGER,
  withClaim,
  withoutClaim,
  withoutPorts,
  withoutUse,
} from '../../src/core/fit/ledger.ts';
import type { Shortfall } from '../../src/core/cell/resources.ts';

interface Held {
  readonly claim: Claim;
  preempted: boolean;
  inUse: boolean;
}

/**
 * What is given away on this host, by the host's own knowledge. Two sums: `admitted` counts as the cell's ledger does,
 * without the use of preempted victims; `inUse` counts what really lies on the machine, with them. A start is admitted
 * by the first and begins by the second.
 */
export class LocalLedger {
  readonly #host: () => Host;
  readonly #held = new Map<string, Held>();
  #admitted: Ledger = EMPTY_LEDGER;
  #inUse: Ledger = EMPTY_LEDGER;

  constructor(host: () => Host) {
    this.#host = host;
  }

  /** Takes the claim, unless it does not fit beside all that is not preempted. `evicts` are preempted for it. */
  admit(claim: Claim, evicts: readonly string[]): Shortfall | null {
    const victims = evicts.filter((id) => this.#held.get(id)?.preempted === false);
    let admitted = this.#admitted;
    for (const id of victims) admitted = withoutUse(admitted, this.#claimOf(id));
    const short = fitShortfall(this.#host(), admitted, claim);
    if (short !== null) return short;
    for (const id of victims) this.markPreempted(id);
    this.hold(claim);
    return null;
  }

  /** Takes what was admitted before, whether it fits or not: it begins when there is room. */
  hold(claim: Claim): void {
    this.#admitted = withClaim(this.#admitted, claim);
    this.#held.set(claim.id, { claim, preempted: false, inUse: false });
  }

  /** Takes what is there already, whether it fits or not. */
  adopt(claim: Claim): void {
    this.#admitted = withClaim(this.#admitted, claim);
    this.#inUse = withClaim(this.#inUse, claim);
    this.#held.set(claim.id, { claim, preempted: false, inUse: true });
  }

  /** Would it have room here if nothing else were? Not when the host was made smaller since it was admitted. */
  fitsAlone(claim: Claim): boolean {
    return fitShortfall(this.#host(), EMPTY_LEDGER, claim) === null;
  }

  markPreempted(id: string): void {
    const held = this.#held.get(id);
    if (held === undefined || held.preempted) return;
    held.preempted = true;
    this.#admitted = withoutUse(this.#admitted, held.claim);
  }

  /** Is there room for it now, beside all that still lies on the machine? If so, it counts as in use from now on. */
  begin(id: string): boolean {
    const held = this.#held.get(id);
    if (held === undefined) throw new Error(`allocation ${id} was not admitted`);
    if (held.inUse) return true;
    if (fitShortfall(this.#host(), this.#inUse, held.claim) !== null) return false;
    held.inUse = true;
    this.#inUse = withClaim(this.#inUse, held.claim);
    return true;
  }

  holds(id: string): boolean {
    return this.#held.has(id);
  }

  release(id: string): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    this.#held.delete(id);
    this.#admitted = held.preempted
      ? withoutPorts(this.#admitted, held.claim)
      : withoutClaim(this.#admitted, held.claim);
    if (held.inUse) this.#inUse = withoutClaim(this.#inUse, held.claim);
  }

  #claimOf(id: string): Claim {
    const held = this.#held.get(id);
    if (held === undefined) throw new Error(`allocation ${id} is not held`);
    return held.claim;
  }
}
