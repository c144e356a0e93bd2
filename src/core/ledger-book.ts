import type { Ledger } from './ledger.ts';
import { EMPTY_LEDGER } from './ledger.ts';

/** A host's ledger and the store revision that wrote it; revision 0 means that there is none. */
export interface KnownLedger {
  readonly ledger: Ledger;
  readonly revision: number;
}

const UNKNOWN: KnownLedger = Object.freeze({ ledger: EMPTY_LEDGER, revision: 0 });

/**
 * The newest ledger known of each host. Two sources fill it, the watch and the replies to our own commits; they overtake
 * each other, so only a higher revision replaces what is there.
 */
export class LedgerBook {
  readonly #known = new Map<string, KnownLedger>();
  /** When a host was seen to have no ledger: late news of the deleted one must not bring it back. */
  readonly #absentSince = new Map<string, number>();

  /** The empty ledger at revision 0 when nothing is known of the host. */
  get(host: string): KnownLedger {
    return this.#known.get(host) ?? UNKNOWN;
  }

  /**
   * @param ledger null: the store has none
   * @param revision the mod revision of the ledger's key; for null, the revision at which it was seen to be absent
   * @returns false: not newer than what is known, and ignored
   */
  observe(host: string, ledger: Ledger | null, revision: number): boolean {
    if (revision <= this.get(host).revision || revision <= (this.#absentSince.get(host) ?? -1)) return false;
    if (ledger === null) {
      this.#absentSince.set(host, revision);
      return this.#known.delete(host);
    }
    this.#absentSince.delete(host);
    this.#known.set(host, { ledger, revision });
    return true;
  }

  hosts(): IterableIterator<string> {
    return this.#known.keys();
  }
}
