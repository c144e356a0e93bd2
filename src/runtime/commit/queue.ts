import type { LedgerBook } from '../../core/commit/ledger-book.ts';
import type { CellKnowledge } from '../../core/commit/transaction-draft.ts';
import { TransactionDraft } from '../../core/commit/transaction-draft.ts';
import type { CommitTally } from './tally.ts';
import type { PendingUnit } from './open-plan.ts';

/** Queued units that are tried for one transaction: enough to fill it past busy hosts. */
const SCAN_MAX = 1_024;

export interface Batch {
  readonly draft: TransactionDraft;
  readonly units: PendingUnit[];
  readonly queueLeft: boolean;
}

export interface CommitQueueParts {
  readonly knowledge: CellKnowledge;
  readonly book: LedgerBook;
  readonly tally: CommitTally;
  /** Bound on the operations of one transaction: the store's, which may change. */
  readonly operationsMax: () => number;
  /** The known ledgers do not hold what the unit frees: reads them, then gives the unit back. */
  readonly refresh: (pending: PendingUnit) => void;
}

/**
 * Units that wait for a transaction, and the hosts and pools that are in one. The queue is first in, first out for each of
 * these: a unit waits while one of its hosts or pools is busy, or is needed by a unit before it.
 */
export class CommitQueue {
  readonly #parts: CommitQueueParts;
  readonly #busy = new Set<string>();
  readonly #busyPools = new Set<string>();
  #waiting: PendingUnit[] = [];

  constructor(parts: CommitQueueParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#waiting.length;
  }

  push(pending: PendingUnit): void {
    this.#waiting.push(pending);
  }

  /** Units that were taken out and not committed: they are tried before all others. */
  giveBack(units: readonly PendingUnit[]): void {
    this.#waiting.unshift(...units);
  }

  ofLostSession(): readonly PendingUnit[] {
    return this.#waiting.filter(({ open }) => open.session?.aborted === true);
  }

  dropFailed(): void {
    this.#waiting = this.#waiting.filter((pending) => !pending.open.failed);
  }

  /** Our own commit moved the host's ledger: no conflict for plans that were made on the revision before. */
  followOwnCommit(host: string, from: number, to: number): void {
    for (const pending of this.#waiting) pending.followOwnCommit(host, from, to);
  }

  /** No other transaction takes the hosts and pools until `release`. */
  hold(hosts: readonly string[], pools: readonly string[]): void {
    for (const host of hosts) this.#busy.add(host);
    for (const pool of pools) this.#busyPools.add(pool);
  }

  release(hosts: readonly string[], pools: readonly string[]): void {
    for (const host of hosts) this.#busy.delete(host);
    for (const pool of pools) this.#busyPools.delete(pool);
  }

  /** Takes out what fits into one transaction now; null when all of it waits for busy hosts. */
  nextBatch(): Batch | null {
    const { knowledge } = this.#parts;
    const operationsMax = this.#parts.operationsMax();
    const draft = new TransactionDraft(knowledge, operationsMax);
    const batch = { draft, units: [] as PendingUnit[] };
    const blocked = new Set<string>();
    const blockedPools = new Set<string>();
    const waiting: PendingUnit[] = [];
    let scanned = 0;
    let isOpen = true;
    while (isOpen && scanned < this.#waiting.length && waiting.length < SCAN_MAX) {
      const pending = this.#waiting[scanned] as PendingUnit;
      const cap = pending.operationsCap(operationsMax);
      if (batch.units.length > 0 && draft.operations >= cap) break;
      scanned += 1;
      const hosts = pending.unit.parts;
      const mustWait =
        hosts.some(({ host }) => this.#busy.has(host) || blocked.has(host)) ||
        pending.pools.some((pool) => this.#busyPools.has(pool) || blockedPools.has(pool));
      const added = mustWait ? 'waits' : this.#addTo(batch, pending);
      if (added === 'waits' || added === 'full') {
        waiting.push(pending);
        for (const { host } of hosts) blocked.add(host);
        for (const pool of pending.pools) blockedPools.add(pool);
      }
      isOpen = added !== 'full';
    }
    this.#waiting.splice(0, scanned, ...waiting);
    return batch.units.length === 0 ? null : { ...batch, queueLeft: this.#waiting.length > 0 };
  }

  #addTo(batch: Omit<Batch, 'queueLeft'>, pending: PendingUnit): 'added' | 'waits' | 'full' | 'gone' {
    const { book, refresh, tally } = this.#parts;
    for (;;) {
      const stale = pending.movedSinceNoted(
        (host) => batch.draft.comparedRevision(host) ?? book.get(host).revision,
      );
      if (stale.size > 0 && !tally.refuse(pending, stale)) return 'gone';
      const added = batch.draft.add(pending.unit);
      if (added === 'added') batch.units.push(pending);
      if (typeof added === 'string') return added;
      if (added.missing && !pending.refreshed) {
        refresh(pending);
        return 'gone';
      }
      if (!tally.refuse(pending, added.conflicts)) return 'gone';
    }
  }
}
