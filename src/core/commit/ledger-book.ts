import type { Ledger } from '../fit/ledger.ts';
import { EMPTY_LEDGER } from '../fit/ledger.ts';

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
 * All that is known of one host's ledger. What news is compared with lies here itself, so that news about a host at which
 * nobody looks touches one piece of memory: of several schedulers' ledgers each hears more of the others' than of its own.
 */
interface Page {
  known: KnownLedger;
  /** Of `known`, or of what is unread. */
  newestRevision: number;
  /** The newest that was read says that the host has a ledger and is ready. */
  isReady: boolean;
  /** News that nobody has looked at, of `newestRevision`; most hosts change many times before anybody does. */
  unread: string | null;
  /** When the host was seen to have no ledger: late news of the deleted one must not bring it back. */
  absentSince: number;
  /** The ledger that we are writing. */
  sent: SentLedger | null;
}

/**
 * What became of news about a host: not newer than what is known; what we wrote ourselves, now known; put by, to be read
 * when somebody asks, in the place of older news of that kind or as the first of it; or to be read and told to `observe` by
 * whoever brought it.
 */
export type Received = 'old' | 'own' | 'deferred' | 'deferred-again' | 'decode';

/**
 * The newest ledger known of each host. Two sources fill it, the watch and the replies to our own commits; they overtake
 * each other, so only a higher revision replaces what is there.
 */
export class LedgerBook {
  readonly #read: (host: string, text: string) => Ledger | null;
  readonly #pages = new Map<string, Page>();
  readonly #own = new Set<number>();
  #listings = 0;

  /**
   * @param read for news that was put by unread; null when the text is no ledger, which has been told then: the host stays
   *   as it was known. Without it nothing may be put by.
   */
  constructor(read: (host: string, text: string) => Ledger | null = () => null) {
    this.#read = read;
  }

  /** The empty ledger at revision 0 when nothing is known of the host. */
  get(host: string): KnownLedger {
    const page = this.#pages.get(host);
    if (page === undefined) return UNKNOWN;
    if (page.unread !== null) this.#readUp(host, page, page.unread);
    return page.known;
  }

  /** The same without reading what was put by. */
  peek(host: string): KnownLedger {
    return this.#pages.get(host)?.known ?? UNKNOWN;
  }

  /** The revision of the newest that was heard of the host, read or not; 0: nothing. */
  revisionOf(host: string): number {
    return this.#pages.get(host)?.newestRevision ?? 0;
  }

  /**
   * News about the host from the watch. Of a host that is not known to be ready all news is to be read.
   * @param waits may it be put by, going by its text?
   */
  receive(host: string, text: string, revision: number, waits: (text: string) => boolean): Received {
    const page = this.#pages.get(host);
    if (page === undefined) return 'decode';
    if (revision <= page.newestRevision || revision <= page.absentSince) return 'old';
    if (page.sent !== null && page.sent.text === text) {
      know(page, page.sent.ledger, revision);
      return 'own';
    }
    // What was put by before tells that the host is ready still.
    if (!page.isReady || !waits(text)) return 'decode';
    const isFirst = page.unread === null;
    page.unread = text;
    page.newestRevision = revision;
    return isFirst ? 'deferred' : 'deferred-again';
  }

  #readUp(host: string, page: Page, text: string): void {
    const revision = page.newestRevision;
    page.unread = null;
    page.newestRevision = page.known.revision;
    const ledger = this.#read(host, text);
    if (ledger !== null) this.observe(host, ledger, revision);
  }

  /**
   * @param ledger null: the store has none
   * @param revision the mod revision of the ledger's key; for null, the revision at which it was seen to be absent
   * @returns false: not newer than what is known, and ignored
   */
  observe(host: string, ledger: Ledger | null, revision: number): boolean {
    const page = this.#page(host);
    if (revision <= page.newestRevision || revision <= page.absentSince) return false;
    if (ledger !== null) {
      know(page, ledger, revision);
      return true;
    }
    const wasThere = page.known.revision > 0;
    know(page, EMPTY_LEDGER, 0);
    page.absentSince = revision;
    return wasThere;
  }

  /**
   * A commit that writes the ledger is under way. Its echo by the watch may be here before the reply, and need not be
   * read, since the same text is the same ledger.
   */
  sending(host: string, ledger: Ledger, text: string): void {
    this.#page(host).sent = { ledger, text };
  }

  /** The commit that wrote the host's ledger has ended, somehow. */
  sent(host: string): void {
    const page = this.#pages.get(host);
    if (page !== undefined) page.sent = null;
  }

  /** How often the store was read anew. */
  get listings(): number {
    return this.#listings;
  }

  /**
   * A commit of ours made this revision, and all that it wrote to ledgers was observed here: its echo says nothing new.
   * @param listings when it was sent: a store that was read anew since may have gone back, and count that revision again
   */
  committed(revision: number, listings: number): void {
    if (listings !== this.#listings) return;
    this.#own.add(revision);
    if (this.#own.size <= OWN_MAX) return;
    const [oldest] = this.#own;
    if (oldest !== undefined) this.#own.delete(oldest);
  }

  /** Is all known that the revision wrote to ledgers? */
  isCommitted(revision: number): boolean {
    return this.#own.has(revision);
  }

  /** The store is read anew, and may have gone back: its revisions to come need not be those that we know. */
  relisted(): void {
    this.#listings += 1;
    this.#own.clear();
  }

  /** The hosts that have a ledger. */
  *hosts(): IterableIterator<string> {
    for (const [host, page] of this.#pages) if (page.known.revision > 0) yield host;
  }

  #page(host: string): Page {
    let page = this.#pages.get(host);
    if (page === undefined) {
      page = {
        known: UNKNOWN,
        newestRevision: 0,
        isReady: false,
        unread: null,
        absentSince: NEVER,
        sent: null,
      };
      this.#pages.set(host, page);
    }
    return page;
  }
}

const NEVER = -1;
/** Far more than a watch may lie behind our own replies; an echo that comes later still is read, and found to be old. */
const OWN_MAX = 1_024;

function know(page: Page, ledger: Ledger, revision: number): void {
  page.known = revision === 0 ? UNKNOWN : { ledger, revision };
  page.newestRevision = revision;
  page.isReady = revision > 0 && ledger.state === 'ready';
  page.unread = null;
  page.absentSince = NEVER;
}
