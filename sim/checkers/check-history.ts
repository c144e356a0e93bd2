import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { CellStore, Change, Snapshot } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { HostListing } from '../../src/wire/api/host-api.ts';
import type { Step } from './replay/replay.ts';
import { GangChecker } from './commits/gangs.ts';
import { checkListings } from './commits/host-listings.ts';
import { SharedStateChecker } from './commits/commits.ts';
import type { Violation } from './replay/violations.ts';
import { Findings } from './replay/violations.ts';

export interface CheckReport {
  /** `nothing-seen`: there was no allocation and no commit, which proves nothing. */
  readonly verdict: 'holds' | 'violated' | 'nothing-seen';
  /** The first revision checked, and the last. */
  readonly fromRevision: number;
  readonly toRevision: number;
  /** false: the store no longer keeps the beginning, so the check starts from a snapshot. */
  readonly wholeHistory: boolean;
  /** Revisions replayed. */
  readonly revisions: number;
  /** Of these, those that changed a ledger or an allocation: one transaction each. */
  readonly transactions: number;
  /** Plans made durable by them, in whole or in part: several plans share a transaction. */
  readonly commits: number;
  /** Different allocations seen. */
  readonly allocations: number;
  /** Host listings compared with the history. */
  readonly hosts: number;
  /** The first ones, at most `VIOLATIONS_MAX`. */
  readonly violations: readonly Violation[];
  readonly violationsTotal: number;
}

/** How often what is being read may be compacted away. */
const BEGINS_MAX = 5;

/** An etcd that was never written to is at revision 1. */
const FIRST_REVISION = 1;

/**
 * Replays the cell's history, as far back as the store keeps it, and checks the invariants of the shared state at every
 * single revision: I1, I2, I3, I4, I6, I7, I8, I12, I74, and I13 against what the hosts list.
 *
 * @param listings what each host answered to `GET /v1/allocations`, asked before this call
 * @throws StoreError
 */
export async function checkHistory(
  store: CellStore,
  keys: CellKeys,
  listings: readonly HostListing[],
): Promise<CheckReport> {
  for (let tries = 1; ; tries++)
    try {
      return await checkOnce(store, keys, listings);
    } catch (error) {
      const isCompacted = error instanceof StoreError && error.code === 'compacted';
      if (!isCompacted || tries === BEGINS_MAX) throw error;
    }
}

/** @throws StoreError `compacted` when what is being read is compacted meanwhile */
async function checkOnce(
  store: CellStore,
  keys: CellKeys,
  listings: readonly HostListing[],
): Promise<CheckReport> {
  const check = new HistoryCheck(keys);
  const begin = await beginning(store, keys);
  const wholeHistory = begin.revision <= FIRST_REVISION;
  if (begin.entries.size > 0) check.take(begin.revision, changesOf(begin), true);
  const { revision: current } = await store.read([keys.meta]);
  if (current > begin.revision)
    for await (const { revision, changes } of store.history(keys.root, begin.revision + 1))
      check.take(revision, changes);
  return check.report(listings, begin.revision, wholeHistory);
}

/** The cell at the oldest revision that is kept; the current one when all before is compacted. */
async function beginning(store: CellStore, keys: CellKeys): Promise<Snapshot> {
  const { revision: current } = await store.read([keys.meta]);
  const oldest = Math.min(await store.oldestRevision(), current);
  const snapshot = await store.list(keys.root, oldest);
  if (snapshot.revision !== oldest) throw new Error('this store does not list the past');
  return snapshot;
}

function changesOf(snapshot: Snapshot): readonly Change[] {
  return [...snapshot.entries.values()].map((entry) => ({ kind: 'put', entry }));
}

class HistoryCheck {
  readonly #findings = new Findings();
  readonly #state: SharedStateChecker;
  readonly #gangs = new GangChecker();
  #revisions = 0;
  #transactions = 0;
  #commits = 0;
  #last = 0;

  constructor(keys: CellKeys) {
    this.#state = new SharedStateChecker(keys, this.#findings);
  }

  take(revision: number, changes: readonly Change[], initial = false): void {
    const step = this.#state.apply(revision, changes, initial);
    this.#gangs.check(step, this.#state.cell, this.#findings);
    if (!initial) this.#revisions += 1;
    if (!initial && isCommit(step)) {
      this.#transactions += 1;
      this.#commits += commitsIn(step);
    }
    this.#last = revision;
  }

  report(listings: readonly HostListing[], fromRevision: number, wholeHistory: boolean): CheckReport {
    const toRevision = Math.max(this.#last, fromRevision);
    checkListings(listings, this.#state.lives, wholeHistory, toRevision, this.#findings);
    const { violations, count } = this.#findings;
    const empty = this.#state.lives.seen === 0 && this.#commits === 0;
    return {
      verdict: count > 0 ? 'violated' : empty ? 'nothing-seen' : 'holds',
      fromRevision,
      toRevision,
      wholeHistory,
      revisions: this.#revisions,
      transactions: this.#transactions,
      commits: this.#commits,
      allocations: this.#state.lives.seen,
      hosts: listings.length,
      violations,
      violationsTotal: count,
    };
  }
}

function isCommit(step: Step): boolean {
  return step.changed.allocations.length > 0 || step.changed.ledgers.length > 0;
}

/** Allocations name their plan; releases and preemptions alone count as one. */
function commitsIn(step: Step): number {
  const plans = new Set<string>();
  for (const { before, after } of step.changed.allocations)
    if (before === undefined && after !== undefined) plans.add(after.planId);
  return Math.max(1, plans.size);
}
