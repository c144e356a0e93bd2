import type { Ledger } from './ledger.ts';
import { EMPTY_LEDGER } from './ledger.ts';

/** A host's ledger and the store revision that wrote it; revision 0 means that there is none. */
export interface KnownLedger {
  readonly ledger: Ledger;
  readonly revision: number;
}

interface SentLedger {
  readonly ledger: Ledger;
  readonly text: string;
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
  /** Ledgers that we are writing, by host. */
  readonly #sent = new Map<string, SentLedger>();

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
    if (revision <= this.get(host).revision) return false;
    // Ledgers are hardly ever deleted.
    if (this.#absentSince.size > 0 && revision <= (this.#absentSince.get(host) ?? -1)) return false;
    if (ledger === null) {
      this.#absentSince.set(host, revision);
      return this.#known.delete(host);
    }
    if (this.#absentSince.size > 0) this.#absentSince.delete(host);
    this.#known.set(host, { ledger, revision });
    return true;
  }

  /**
   * A commit that writes the ledger is under way. Its echo by the watch may be here before the reply, and need not be
   * read, since the same text is the same ledger.
   */
  sending(host: string, ledger: Ledger, text: string): void {
    this.#sent.set(host, { ledger, text });
  }

  /** The commit that wrote the host's ledger has ended, somehow. */
  sent(host: string): void {
    this.#sent.delete(host);
  }

  /** The ledger that the text says, if it is the one that we are writing. */
  echoOf(host: string, text: string): Ledger | undefined {
    const sent = this.#sent.get(host);
    return sent?.text === text ? sent.ledger : undefined;
  }

  hosts(): IterableIterator<string> {
    return this.#known.keys();
  }
}
