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
  givingWay: boolean;
  begun: boolean;
}

/**
 * What is given away on this host, by the host's own knowledge. Two sums: `promised` counts as the cell's ledger does,
 * without the use of those that give way; `begun` counts what really lies on the machine, with them. A start is admitted
 * by the first and begins by the second.
 */
export class LocalLedger {
  readonly #host: () => Host;
  readonly #held = new Map<string, Held>();
  #promised: Ledger = EMPTY_LEDGER;
  #begun: Ledger = EMPTY_LEDGER;

  constructor(host: () => Host) {
    this.#host = host;
  }

  /** Takes the claim, unless it does not fit beside all that does not give way. `evicts` give way to it. */
  admit(claim: Claim, evicts: readonly string[]): Shortfall | null {
    const victims = evicts.filter((id) => this.#held.get(id)?.givingWay === false);
    let promised = this.#promised;
    for (const id of victims) promised = withoutUse(promised, this.#claimOf(id));
    const short = fitShortfall(this.#host(), promised, claim);
    if (short !== null) return short;
    for (const id of victims) this.markPreempted(id);
    this.hold(claim);
    return null;
  }

  /** Takes what was admitted before, whether it fits or not: it begins when there is room. */
  hold(claim: Claim): void {
    this.#promised = withClaim(this.#promised, claim);
    this.#held.set(claim.id, { claim, givingWay: false, begun: false });
  }

  /** Takes what is there already, whether it fits or not. */
  adopt(claim: Claim): void {
    this.#promised = withClaim(this.#promised, claim);
    this.#begun = withClaim(this.#begun, claim);
    this.#held.set(claim.id, { claim, givingWay: false, begun: true });
  }

  /** Would it have room here if nothing else were? Not when the host was made smaller since it was admitted. */
  fitsAlone(claim: Claim): boolean {
    return fitShortfall(this.#host(), EMPTY_LEDGER, claim) === null;
  }

  markPreempted(id: string): void {
    const held = this.#held.get(id);
    if (held === undefined || held.givingWay) return;
    held.givingWay = true;
    this.#promised = withoutUse(this.#promised, held.claim);
  }

  /** Is there room for it now, beside all that still lies on the machine? If so, it counts as begun from now on. */
  begin(id: string): boolean {
    const held = this.#held.get(id);
    if (held === undefined) throw new Error(`allocation ${id} was not admitted`);
    if (held.begun) return true;
    if (fitShortfall(this.#host(), this.#begun, held.claim) !== null) return false;
    held.begun = true;
    this.#begun = withClaim(this.#begun, held.claim);
    return true;
  }

  holds(id: string): boolean {
    return this.#held.has(id);
  }

  release(id: string): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    this.#held.delete(id);
    this.#promised = held.givingWay
      ? withoutPorts(this.#promised, held.claim)
      : withoutClaim(this.#promised, held.claim);
    if (held.begun) this.#begun = withoutClaim(this.#begun, held.claim);
  }

  #claimOf(id: string): Claim {
    const held = this.#held.get(id);
    if (held === undefined) throw new Error(`allocation ${id} is not held`);
    return held.claim;
  }
}
