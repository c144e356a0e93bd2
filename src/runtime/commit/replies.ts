import type { CellKeys } from '../../core/cell/keys.ts';
import type { LedgerBook } from '../../core/commit/ledger-book.ts';
import type { Ledger } from '../../core/fit/ledger.ts';
import { EMPTY_LEDGER } from '../../core/fit/ledger.ts';
import type { PoolBook } from '../../core/quota/pool-book.ts';
import type { Snapshot } from '../../ports/cell-store.ts';
import type { Log } from '../../ports/telemetry.ts';
import { ledgerCodec, poolCodec, sharedResourceCodec } from '../../wire/records/records.ts';
import { decodeOrSkip } from '../records/records.ts';

export interface RepliesDeps {
  readonly keys: CellKeys;
  readonly book: LedgerBook;
  readonly pools: PoolBook;
  readonly log: Log;
  readonly onLedger?: (host: string, ledger: Ledger, revision: number) => void;
}

type Read = Pick<Snapshot, 'entries' | 'revision'>;

/**
 * What replies to commits say of ledgers, pools and shared resources: into the books, ledgers also to `onLedger`. A record
 * that cannot be read leaves the book as it is; commits that compare it are refused until the record is repaired.
 */
export class Replies {
  readonly #deps: RepliesDeps;
  readonly #book: LedgerBook;

  constructor(deps: RepliesDeps) {
    this.#deps = deps;
    this.#book = deps.book;
  }

  readLedger(host: string, { entries, revision }: Read): void {
    const entry = entries.get(this.#deps.keys.ledger(host));
    if (entry === undefined) this.observe(host, null, revision);
    else if (entry.modRevision > this.#book.get(host).revision) {
      const ledger = decodeOrSkip(ledgerCodec, entry.value, ({ message: error }) =>
        this.#deps.log.error({ host, error }, 'the ledger of a host cannot be read'),
      );
      if (ledger !== null) this.observe(host, ledger, entry.modRevision);
    }
  }

  /** @param ledger null: the host has none */
  observe(host: string, ledger: Ledger | null, revision: number): void {
    if (!this.#book.observe(host, ledger, revision)) return;
    if (ledger === null) this.#deps.onLedger?.(host, EMPTY_LEDGER, 0);
    else this.#deps.onLedger?.(host, ledger, revision);
  }

  readPool(pool: string, { entries, revision }: Read): void {
    const entry = entries.get(this.#deps.keys.pool(pool));
    if (entry === undefined) return void this.#deps.pools.observe(pool, null, revision);
    const read = decodeOrSkip(poolCodec, entry.value);
    if (read !== null) this.#deps.pools.observe(pool, read.used, entry.modRevision, read.volume);
  }

  readResource(name: string, { entries, revision }: Read): void {
    const entry = entries.get(this.#deps.keys.sharedResource(name));
    if (entry === undefined) return void this.#deps.pools.define(name, null, revision);
    const read = decodeOrSkip(sharedResourceCodec, entry.value);
    if (read !== null) this.#deps.pools.define(name, read, entry.modRevision);
  }
}
