import type { CellKeys } from '../core/keys.ts';
import type { LedgerBook } from '../core/ledger-book.ts';
import type { CellStore, Entry, Following } from '../ports/cell-store.ts';
import { RecordError } from '../wire/codec.ts';
import { ledgerCodec } from '../wire/records.ts';

export interface LedgerFeedOptions {
  /** The book knows something newer about the host. */
  readonly onLedger: (host: string) => void;
  readonly onBadRecord?: (error: RecordError, key: string) => void;
}

/**
 * Keeps a ledger book up to date from the store. Most events are the echo of our own commits, which the book knows from
 * the replies; they are dropped by their revision, or known by their text when they are here before the reply, without
 * being read.
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
        for (const host of [...book.hosts()]) {
          // A commit may have made the ledger after the snapshot was taken.
          const isGone = !entries.has(keys.ledger(host)) && book.get(host).revision < revision;
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
    });
    this.ready = this.#following.ready;
  }

  close(): void {
    this.#following.close();
  }

  #gone(host: string, revision: number): void {
    if (this.#book.observe(host, null, revision)) this.#options.onLedger(host);
  }

  #read(entry: Entry): void {
    const host = entry.key.slice(this.#prefix.length);
    if (entry.modRevision <= this.#book.get(host).revision) return;
    try {
      const ledger = this.#book.echoOf(host, entry.value) ?? ledgerCodec.decode(entry.value);
      if (this.#book.observe(host, ledger, entry.modRevision)) this.#options.onLedger(host);
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      this.#options.onBadRecord?.(error, entry.key);
    }
  }
}
