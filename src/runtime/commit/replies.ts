import type { Ledger } from '../../core/fit/ledger.ts';
import { EMPTY_LEDGER } from '../../core/fit/ledger.ts';
import type { LedgerBook } from '../../core/commit/ledger-book.ts';
import type { Entry } from '../../ports/cell-store.ts';
import type { Log } from '../../ports/telemetry.ts';
import { RecordError } from '../../wire/codec/codec.ts';
import { ledgerCodec } from '../../wire/records/records.ts';

/** What the replies to commits tell of ledgers: into the book, and on to whoever wants to know. */
export class LedgerReplies {
  readonly #book: LedgerBook;
  readonly #log: Log;
  readonly #onLedger: (host: string, ledger: Ledger, revision: number) => void;

  constructor(
    book: LedgerBook,
    log: Log,
    onLedger: (host: string, ledger: Ledger, revision: number) => void = () => undefined,
  ) {
    this.#book = book;
    this.#log = log;
    this.#onLedger = onLedger;
  }

  /** What was read of a host's ledger at the revision; undefined: there was none. */
  read(host: string, entry: Entry | undefined, revision: number): void {
    if (entry === undefined) this.observe(host, null, revision);
    else if (entry.modRevision > this.#book.get(host).revision) {
      try {
        this.observe(host, ledgerCodec.decode(entry.value), entry.modRevision);
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        // The host stays as it was known; its commits go on being refused, until somebody repairs the record.
        this.#log.error({ host, error: error.message }, 'the ledger of a host cannot be read');
      }
    }
  }

  observe(host: string, ledger: Ledger | null, revision: number): void {
    if (!this.#book.observe(host, ledger, revision)) return;
    if (ledger === null) this.#onLedger(host, EMPTY_LEDGER, 0);
    else this.#onLedger(host, ledger, revision);
  }
}
