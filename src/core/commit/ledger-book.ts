import type { Ledger } from '../fit/ledger.ts';
import { EMPTY_LEDGER } from '../fit/ledger.ts';

/** A host's ledger and the store revision that wrote it; revision 0: there is none. */
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
 * What is known of one host's ledger, in one object with all that a change is compared with: most changes come from other
 * schedulers and concern hosts that no search draws, and touch nothing else.
 */
interface Page {
  known: KnownLedger;
  /** Of `known`, or of `unread`. */
  newestRevision: number;
  /** The newest ledger that was read exists and is `ready`. */
  isReady: boolean;
  /** A ledger at `newestRevision` that is not read yet; most hosts change many times before they are needed. */
  unread: string | null;
  /** Revision at which the host had no ledger: a late event must not bring back the deleted one. */
  absentSince: number;
  /** The ledger that a commit of this process is writing. */
  sent: SentLedger | null;
}

/**
 * What became of a change from the watch. `old`: not newer than known. `own`: written by this process, now known.
 * `deferred`: to be read when it is needed; `deferred-again`: instead of an older deferred one. `decode`: the caller
 * decodes it and calls `observe`.
 */
export type Received = 'old' | 'own' | 'deferred' | 'deferred-again' | 'decode';

/**
 * The newest known ledger of each host. The watch and the replies to commits fill it and overtake each other, so only a
 * higher revision replaces what is known.
 *
 * The ledgers that other schedulers write stay unread until a search draws the host, a commit drafts with it, or a search
 * fails. They are read at once while a job is parked, while the host is or becomes not ready, and under
 * `conflictCheck: version`. An old ledger costs at most a rebase. `docs/decisions/commit-and-rebase.md`
 */
export class LedgerBook {
  readonly #read: (host: string, text: string) => Ledger | null;
  readonly #pages = new Map<string, Page>();
  readonly #own = new Set<number>();
  #listings = 0;

  /**
   * @param read decodes a deferred ledger; null: the text is no ledger (the function has reported it), and the host stays
   *   as known. Without it nothing may be deferred.
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

  /** The same without reading a deferred ledger. */
  peek(host: string): KnownLedger {
    return this.#pages.get(host)?.known ?? UNKNOWN;
  }

  /** The revision of the host's newest ledger, read or not; 0: none. */
  revisionOf(host: string): number {
    return this.#pages.get(host)?.newestRevision ?? 0;
  }

  /**
   * A change of the host's ledger from the watch. Only changes of ready hosts are deferred.
   * @param waits may a ledger with this text be deferred?
   */
  receive(host: string, text: string, revision: number, waits: (text: string) => boolean): Received {
    const page = this.#pages.get(host);
    if (page === undefined) return 'decode';
    if (revision <= page.newestRevision || revision <= page.absentSince) return 'old';
    if (page.sent !== null && page.sent.text === text) {
      know(page, page.sent.ledger, revision);
      return 'own';
    }
    // A deferred ledger is ready too, so `isReady` still holds.
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
   * @param revision the mod revision of the ledger's key; for null, a revision at which it was absent
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
   * A commit that writes the ledger is under way. The watch may deliver the same text before the reply comes: it need not
   * be decoded.
   */
  sending(host: string, ledger: Ledger, text: string): void {
    this.#page(host).sent = { ledger, text };
  }

  /** The commit that wrote the host's ledger has ended, somehow. */
  sent(host: string): void {
    const page = this.#pages.get(host);
    if (page !== undefined) page.sent = null;
  }

  /** How often the store was listed again. */
  get listings(): number {
    return this.#listings;
  }

  /**
   * A commit of this process made the revision, and all its ledgers were observed: the watch brings nothing new of it.
   * @param listings when it was sent: a store that was listed again since may have gone back, and reuse the revision
   */
  committed(revision: number, listings: number): void {
    if (listings !== this.#listings) return;
    this.#own.add(revision);
    if (this.#own.size <= OWN_MAX) return;
    const [oldest] = this.#own;
    if (oldest !== undefined) this.#own.delete(oldest);
  }

  /** Are all ledgers known that the revision wrote? */
  isCommitted(revision: number): boolean {
    return this.#own.has(revision);
  }

  /** The store is listed again, and may have gone back: its next revisions need not be the known ones. */
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
/** Far more commits than a watch lies behind; an event that comes later is decoded, and found to be old. */
const OWN_MAX = 1_024;

function know(page: Page, ledger: Ledger, revision: number): void {
  page.known = revision === 0 ? UNKNOWN : { ledger, revision };
  page.newestRevision = revision;
  page.isReady = revision > 0 && ledger.state === 'ready';
  page.unread = null;
  page.absentSince = NEVER;
}
