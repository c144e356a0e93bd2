import type { CellKeys } from '../../core/cell/keys.ts';
import type { Ledger } from '../../core/fit/ledger.ts';
import type { LedgerBook } from '../../core/commit/ledger-book.ts';
import type { CellStore, Entry, Following } from '../../ports/cell-store.ts';
import { RecordError } from '../../wire/codec/codec.ts';
import { ledgerCodec } from '../../wire/records/records.ts';

export interface LedgerFeedOptions {
  /** The book knows something newer about the host. */
  readonly onLedger: (host: string) => void;
  readonly onBadRecord?: (error: RecordError, key: string) => void;
  /**
   * The host's new ledger was put by in the book, unread; told once, until it is read. Most of what other schedulers write is about hosts that we do not
   * look at before they change again. Ledgers that show or change a verdict are always read, and so is everything while
   * this is absent or `mayWait` says no.
   */
  readonly onUnread?: (host: string) => void;
  readonly mayWait?: () => boolean;
}

/**
 * Keeps a ledger book up to date from the store. Most events are the echo of our own commits, which the book knows from
 * the replies: the store leaves them out. Those that are here before the reply are known by their text, without being read.
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
    return onUnread !== undefined && !text.includes(VERDICT) && mayWait?.() !== false;
  };

  #gone(host: string, revision: number): void {
    if (this.#book.observe(host, null, revision)) this.#options.onLedger(host);
  }

  #read({ key, value, modRevision }: Entry): void {
    const host = key.slice(this.#prefix.length);
    const heard = this.#book.receive(host, value, modRevision, this.#waits);
    if (heard === 'old' || heard === 'deferred-again') return;
    if (heard === 'deferred') this.#options.onUnread?.(host);
    else if (heard === 'own') this.#options.onLedger(host);
    else {
      try {
        if (this.#book.observe(host, ledgerCodec.decode(value), modRevision)) this.#options.onLedger(host);
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        this.#options.onBadRecord?.(error, key);
      }
    }
  }
}

/** A ledger of a host that is ready says nothing of its state. */
const VERDICT = '"state"';

/** Reads what a feed put by, for the book that it fills. */
export function readerOf(
  keys: CellKeys,
  onBadRecord?: (error: RecordError, key: string) => void,
): (host: string, text: string) => Ledger | null {
  return (host, text) => {
    try {
      return ledgerCodec.decode(text);
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      onBadRecord?.(error, keys.ledger(host));
      return null;
    }
  };
}
