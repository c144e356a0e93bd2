import type { CellKeys } from '../../core/cell/keys.ts';
import type { Ledger } from '../../core/fit/ledger.ts';
import type { LedgerBook } from '../../core/commit/ledger-book.ts';
import type { CellStore, Entry, Following } from '../../ports/cell-store.ts';
import type { RecordError } from '../../wire/wire.ts';
import { ledgerCodec } from '../../wire/records/records.ts';
import { decodeOrSkip } from './records.ts';

export interface LedgerFeedOptions {
  /** The book has a newer ledger of the host. */
  readonly onLedger: (host: string) => void;
  readonly onBadRecord?: (error: RecordError, key: string) => void;
  /**
   * The host's new ledger lies in the book, not yet decoded; called once until it is. Most ledgers that other schedulers
   * write change again before this process needs them. Ledgers with an eligibility state are decoded at once, and those that
   * say something of other hosts (`avoid` over racks), and so are all while this is absent or `mayWait` returns false.
   */
  readonly onUnread?: (host: string) => void;
  readonly mayWait?: () => boolean;
}

/**
 * Keeps a ledger book up to date from the store. Most changes are this process's own commits, which the book knows from the
 * replies: the store leaves them out. Those that come before the reply are recognized by their text, without decoding.
 */
export class LedgerFeed {
  readonly ready: Promise<void>;
  readonly #prefix: string;
  readonly #book: LedgerBook;
  readonly #options: LedgerFeedOptions;
  readonly #following: Following;

  constructor(store: CellStore, keys: CellKeys, book: LedgerBook, options: LedgerFeedOptions) {
    this.#prefix = keys.ledgers;
    this.#book = book;
    this.#options = options;
    this.#following = store.follow(keys.ledgers, {
      onSnapshot: ({ entries, revision }) => {
        book.relisted();
        for (const host of [...book.hosts()]) {
          // A commit may have made the ledger after the snapshot was taken.
          const isGone = !entries.has(keys.ledger(host)) && book.revisionOf(host) < revision;
          if (isGone) this.#gone(host, revision);
        }
        for (const entry of entries.values()) this.#read(entry);
      },
      onChanges: (changes, revision) => {
        for (const change of changes) {
          if (change.kind === 'put') this.#read(change.entry);
          else this.#gone(change.key.slice(this.#prefix.length), revision);
        }
      },
      knows: (revision) => book.isCommitted(revision),
    });
    this.ready = this.#following.ready;
  }

  close(): void {
    this.#following.close();
  }

  readonly #waits = (text: string): boolean => {
    const { onUnread, mayWait } = this.#options;
    const isUrgent = text.includes(STATE_FIELD) || text.includes(RANGE_SCALAR);
    return onUnread !== undefined && !isUrgent && mayWait?.() !== false;
  };

  #gone(host: string, revision: number): void {
    if (this.#book.observe(host, null, revision)) this.#options.onLedger(host);
  }

  #read({ key, value, modRevision }: Entry): void {
    const host = key.slice(this.#prefix.length);
    const result = this.#book.receive(host, value, modRevision, this.#waits);
    if (result === 'old' || result === 'deferred-again') return;
    if (result === 'deferred') this.#options.onUnread?.(host);
    else if (result === 'own') this.#options.onLedger(host);
    else {
      const ledger = decodeOrSkip(ledgerCodec, value, (error) => this.#options.onBadRecord?.(error, key));
      if (ledger !== null && this.#book.observe(host, ledger, modRevision)) this.#options.onLedger(host);
    }
  }
}

/** The ledger of a host that is ready has no such field. */
const STATE_FIELD = '"state"';
/** Of who avoids a class beyond its host (`interference.ts`): those of the class must know of it wherever they look. */
const RANGE_SCALAR = '"over.';

/** Decodes, for the book that a feed fills, a ledger that the feed left undecoded. */
export function readerOf(
  keys: CellKeys,
  onBadRecord?: (error: RecordError, key: string) => void,
): (host: string, text: string) => Ledger | null {
  return (host, text) => decodeOrSkip(ledgerCodec, text, (error) => onBadRecord?.(error, keys.ledger(host)));
}
