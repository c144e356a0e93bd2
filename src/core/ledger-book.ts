import type { Ledger } from './ledger.ts';
import { EMPTY_LEDGER } from './ledger.ts';

/** A host's ledger and the store revision that wrote it; revision 0 means that there is none. */
export interface KnownLedger {
  readonly ledger: Ledger;
  readonly revision: number;
}

interface UnreadLedger {
  readonly text: string;
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
  readonly #read: (host: string, text: string) => Ledger | null;
  /** News that nobody has looked at. */
  readonly #unread = new Map<string, UnreadLedger>();
  readonly #known = new Map<string, KnownLedger>();
  /** When a host was seen to have no ledger: late news of the deleted one must not bring it back. */
  readonly #absentSince = new Map<string, number>();
  /** Ledgers that we are writing, by host. */
  readonly #sent = new Map<string, SentLedger>();

  /**
   * @param read for news that was put by unread; null when the text is no ledger, which has been told then: the host stays
   *   as it was known. Without it nothing may be put by.
   */
  constructor(read: (host: string, text: string) => Ledger | null = () => null) {
    this.#read = read;
  }

  /** The empty ledger at revision 0 when nothing is known of the host. */
  get(host: string): KnownLedger {
    if (this.#unread.size > 0) this.#readUp(host);
    return this.peek(host);
  }

  /** The same without reading what was put by. */
  peek(host: string): KnownLedger {
    return this.#known.get(host) ?? UNKNOWN;
  }

  /** The revision of the newest that was heard of the host, read or not; 0: nothing. */
  revisionOf(host: string): number {
    return this.#unread.get(host)?.revision ?? this.peek(host).revision;
  }

  /** News about the host, to be read when somebody asks. @returns false: not newer than what is known, and ignored */
  putBy(host: string, text: string, revision: number): boolean {
    if (revision <= this.revisionOf(host)) return false;
    if (revision <= (this.#absentSince.get(host) ?? -1)) return false;
    this.#unread.set(host, { text, revision });
    return true;
  }

  #readUp(host: string): void {
    const unread = this.#unread.get(host);
    if (unread === undefined) return;
    this.#unread.delete(host);
    const ledger = this.#read(host, unread.text);
    if (ledger !== null) this.observe(host, ledger, unread.revision);
  }

  /**
   * @param ledger null: the store has none
   * @param revision the mod revision of the ledger's key; for null, the revision at which it was seen to be absent
   * @returns false: not newer than what is known, and ignored
   */
  observe(host: string, ledger: Ledger | null, revision: number): boolean {
    if (revision <= this.revisionOf(host)) return false;
    if (this.#unread.size > 0) this.#unread.delete(host);
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
