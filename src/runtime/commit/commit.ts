/**
 * Writes plans to the cell.
 *
 * 1. `Committer` (this file) takes a plan, which `open-plan.ts` keeps, with its units: what lands together or fails together.
 * 2. `queue.ts` has the units that wait, and drafts the next transaction of those that fit it; `window.ts` says how many
 *    transactions may be under way. A unit that does not fit the newest known ledgers is refused here, before it is sent.
 * 3. `attempt.ts` makes compares and writes of the draft, and the transaction is sent. It ends in one of three ways:
 *    - applied: its units are committed, or rebased if one of them had been refused before.
 *    - refused: the reply has the newest ledgers and pools, which `replies.ts` puts into the books that the next draft compares
 *      with. What conflicts for good (another owner, a changed record) is conflicted at once. The rest is drafted again under
 *      the new revisions: what still fits goes again (a rebase), what does not is a conflict. After `rebasesMax` refusals
 *      (schedulers: 8) or 64 lost races for a pool a unit is a conflict in any case.
 *    - unknown: `unknown-outcome.ts` finds out whether it was applied, by the fenced read of `read-back.ts`.
 * 4. `tally.ts` hands each place, eviction and release its outcome, and counts them.
 *
 * `gang-intent.ts` commits gangs larger than one transaction: open, make effective, sweep.
 */
import type { FoundRevisions } from '../../core/commit/conflicts.ts';
import { allOf, conflictsIn } from '../../core/commit/conflicts.ts';
import { unitsOf } from '../../core/commit/commit.ts';
import type { Host } from '../../core/host/host.ts';
import type { IntentRef } from '../../core/cell/intent.ts';
import type { Ledger } from '../../core/fit/ledger.ts';
import type { LedgerBook } from '../../core/commit/ledger-book.ts';
import { PoolBook } from '../../core/quota/pool-book.ts';
import type { ConflictCheck, Plan, PlanOutcome } from '../../core/commit/plan.ts';
import type { TransactionDraft } from '../../core/commit/transaction-draft.ts';
import type { AttemptReply, Session } from '../../ports/cell-store.ts';
import { StoreError } from '../../ports/cell-store.ts';
import type { RolePorts } from '../runtime.ts';
import { Backoff } from '../wait/backoff.ts';
import { Outage } from '../wait/outage.ts';
import { STORE_AWAY } from '../wait/retry.ts';
import type { AppliedAt } from './attempt.ts';
import { attemptOf, foundIn } from './attempt.ts';
import { resolveCommit } from './unknown-outcome.ts';
import type { Batch } from './queue.ts';
import { CommitQueue } from './queue.ts';
import type { CommitterStats } from './tally.ts';
import { CommitTally } from './tally.ts';
import { CommitWindow } from './window.ts';
import { Replies } from './replies.ts';
import { OpenPlan, PendingUnit } from './open-plan.ts';
import { sleep } from '../wait/wait.ts';

/** While this many transactions are under way, more are sent only when they are full: waiting fills them. */
const PARTIAL_IN_FLIGHT_MAX = 2;
/**
 * Lost races for a pool, before a unit is decided anew. Of many schedulers each loses many races; the hosts are not
 * contended, and a new decision would meet in the same pool.
 */
const POOL_RACES_MAX = 64;

export interface CommitterDeps extends RolePorts {
  readonly book: LedgerBook;
  readonly hostOf: (id: string) => Host | undefined;
  /** Under which jobs are claimed that plans name; absent: no plan claims one. */
  readonly ownerSession?: Session;
  /** Create revision of the owner key that this process holds for the job; undefined when it holds none. */
  readonly ownerRevisionOf: (namespace: string, job: string) => number | undefined;
  /** Mod revision of the open intent of a gang of this process; undefined when it is of another. */
  readonly intentRevisionOf?: (intent: IntentRef) => number | undefined;
  /** What is known of shared resources; without it only what the replies say. */
  readonly pools?: PoolBook;
  /** Called with each ledger that a reply shows, after the book has it and before the plan's outcome is settled. */
  readonly onLedger?: (host: string, ledger: Ledger, revision: number) => void;
  /**
   * The session under which plans are made, read at each plan. When it is lost (aborted), nothing more is sent for its
   * plans: a store that is restored meanwhile may hold what they compare. Without it plans are retried for ever.
   */
  readonly session?: () => AbortSignal;
  /** More plans follow in a moment: a transaction that is not full waits for them. Call `flush` when none follow. */
  readonly moreComing?: () => boolean;
  readonly options: CommitterOptions;
}

export interface CommitterOptions {
  readonly conflictCheck: ConflictCheck;
  /** Bound on transactions under way at once; fewer while the store is slow (`CommitWindow`). */
  readonly inFlightMax: number;
  /** How often one unit may be refused and still be tried again. */
  readonly rebasesMax: number;
}

/**
 * Puts several plans in one transaction where they fit, and has several transactions under way at once.
 *
 * A host takes part in one transaction at a time. So the ledger that the next one compares is known from the reply to the
 * one before, and this process never conflicts with itself; units that need a busy host wait in the queue.
 */
export class Committer {
  readonly #deps: CommitterDeps;
  readonly #queue: CommitQueue;
  readonly #tally = new CommitTally();
  readonly #replies: Replies;
  readonly #pools: PoolBook;
  readonly #backoff: Backoff;
  readonly #outage: Outage;
  readonly #window: CommitWindow;
  #session: AbortSignal | undefined;
  #inFlight = 0;
  #newestRevision = 0;
  #pumpScheduled = false;
  #storeAway = false;
  #trouble: string | null = null;
  #idle: (() => void)[] = [];

  constructor(deps: CommitterDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(STORE_AWAY, deps.random);
    this.#outage = new Outage(deps, 'commits wait for the store');
    this.#window = new CommitWindow(deps.options.inFlightMax);
    this.#pools = deps.pools ?? new PoolBook();
    this.#replies = new Replies({ ...deps, pools: this.#pools });
    this.#queue = new CommitQueue({
      knowledge: {
        ledgerOf: (host) => deps.book.get(host),
        hostOf: deps.hostOf,
        ownerRevisionOf: deps.ownerRevisionOf,
        intentRevisionOf: (intent) => deps.intentRevisionOf?.(intent),
        pools: this.#pools,
      },
      ...{ book: deps.book, tally: this.#tally, operationsMax: () => deps.store.limits.operationsMax },
      refresh: (pending) => void this.#refresh(pending),
    });
  }

  get stats(): CommitterStats {
    return this.#tally.stats;
  }

  /** Why commits wait; null after one that was answered. */
  get storeTrouble(): string | null {
    return this.#trouble;
  }

  /** Full transactions that are worth having under way now; not a whole number. */
  get window(): number {
    return this.#window.transactions;
  }

  /**
   * Placements that are worth having open here: those under way, and as many as fill one more transaction, which is sent as
   * soon as one of those is answered. More would wait here instead of being decided later, on newer knowledge.
   */
  get placementsMax(): number {
    return (
      this.#window.transactions * this.#placementsEach + this.#fullWhile(this.#deps.moreComing !== undefined)
    );
  }

  /** One for many hosts takes half the limit in ledgers and half in allocations; more fit where they share hosts. */
  get #placementsEach(): number {
    return this.#deps.store.limits.operationsMax / 2;
  }

  /** Units that count as a full transaction: while more are coming, as many as may fit where they share hosts. */
  #fullWhile(moreComing: boolean): number {
    return moreComing ? this.#deps.store.limits.operationsMax : this.#placementsEach;
  }

  /** Units that wait for their transaction. The caller bounds it by the number of its open plans. */
  get queued(): number {
    return this.#queue.size;
  }

  /**
   * Writes the plan, as far as it does not conflict. Settles when the store has answered: while it is away, plans wait.
   *
   * @returns what became of every place, eviction and release, by allocation id
   * @throws StoreError that is not retryable: the store was closed, or refuses this process, or the session is lost. What
   *   was committed before is known from the store only.
   */
  commit(plan: Plan): Promise<PlanOutcome> {
    const units = unitsOf(plan, this.#deps.store.limits.operationsMax);
    const session = this.#deps.session?.();
    this.#follow(session);
    const open = new OpenPlan(plan, session);
    if (session?.aborted === true) {
      open.fail(sessionLost());
      return open.outcome;
    }
    for (const unit of units) {
      const pending = new PendingUnit(open, unit);
      if (this.#deps.options.conflictCheck === 'version') pending.noteRevisions(this.#deps.book);
      this.#queue.push(pending);
    }
    if (units.length === 0) open.finish();
    this.#pumpSoon();
    return open.outcome;
  }

  #follow(session: AbortSignal | undefined): void {
    if (session === this.#session) return;
    this.#session = session;
    session?.addEventListener('abort', () => this.#endLost(), { once: true });
  }

  #endLost(): void {
    for (const pending of this.#queue.ofLostSession()) pending.open.fail(sessionLost());
    this.#queue.dropFailed();
    this.#pumpSoon();
  }

  /** Not where the session was lost meanwhile. */
  #retry(units: readonly PendingUnit[]): void {
    this.#queue.giveBack(units);
    if (units.some(({ open }) => open.session?.aborted === true)) this.#endLost();
  }

  /** No more plans follow for now: queued units are sent in a transaction that is not full. */
  flush(): void {
    if (this.#queue.size > 0) this.#pumpSoon();
  }

  /** Resolves when nothing is queued or under way. */
  idle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #isIdle(): boolean {
    return this.#queue.size === 0 && this.#inFlight === 0 && !this.#storeAway;
  }

  /** In a microtask: plans that are committed in the same turn of the event loop share a transaction. */
  #pumpSoon(): void {
    if (this.#pumpScheduled) return;
    this.#pumpScheduled = true;
    void Promise.resolve().then(() => {
      this.#pumpScheduled = false;
      this.#pump();
    });
  }

  #pump(): void {
    const waits = this.#deps.moreComing?.() ?? false;
    const full = this.#fullWhile(waits);
    while (
      !this.#storeAway &&
      this.#queue.size > 0 &&
      this.#inFlight < Math.floor(this.#window.transactions)
    ) {
      const mayGo = this.#inFlight < PARTIAL_IN_FLIGHT_MAX && !waits;
      if (!mayGo && this.#queue.size < full) break;
      const batch = this.#queue.nextBatch();
      if (batch === null) break;
      void this.#run(batch);
    }
    if (this.#isIdle()) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** The known ledgers do not hold what is to be freed. They may be old: reads them, then the unit is tried again. */
  async #refresh(pending: PendingUnit): Promise<void> {
    pending.refreshed = true;
    const { keys, store } = this.#deps;
    const hosts = pending.unit.parts.map((part) => part.host);
    const { pools } = pending;
    await this.#during(hosts, pools, [pending], async () => {
      const ledgerKeys = hosts.map((host) => keys.ledger(host));
      const snapshot = await store.read([...ledgerKeys, ...pools.map((pool) => keys.pool(pool))]);
      for (const pool of pools) this.#replies.readPool(pool, snapshot);
      for (const host of hosts) this.#replies.readLedger(host, snapshot);
      this.#retry([pending]);
    });
  }

  readonly #sending = (host: string, ledger: Ledger, text: string): void =>
    this.#deps.book.sending(host, ledger, text);

  async #run(batch: Batch): Promise<void> {
    const hosts: string[] = [];
    for (const { host } of batch.draft.ledgers) hosts.push(host);
    const pools = Array.from(batch.draft.pools, ({ pool }) => pool);
    await this.#during(hosts, pools, batch.units, async () => {
      const { store, keys, clock, ownerSession } = this.#deps;
      const startedMs = clock.monotonicMs();
      const sentAfter = this.#revisionKnown(batch);
      const { listings } = this.#deps.book;
      // Not kept in a variable: the texts of some hundred placements need not stay until the reply comes.
      const reply = await store.attempt(attemptOf(batch.draft, keys, this.#sending, ownerSession));
      this.#trouble = null;
      this.#tally.count('transactions');
      this.#answered(reply, batch, startedMs);
      if (reply.outcome !== 'unknown') this.#newestRevision = Math.max(this.#newestRevision, reply.revision);
      if (reply.outcome === 'applied') this.#applied(batch, { ...reply, exact: true }, listings);
      else if (reply.outcome === 'refused') this.#refused(batch, reply);
      else await this.#unknown(batch, reply.cause, sentAfter, listings);
    });
  }

  #answered({ outcome }: AttemptReply, batch: Batch, startedMs: number): void {
    const { draft, queueLeft: leftOthers } = batch;
    const { clock, metrics } = this.#deps;
    const nowMs = clock.monotonicMs();
    const tookMs = nowMs - startedMs;
    // One trace of the many that share a transaction is example enough.
    const { traceparent } = batch.units[0]?.open ?? {};
    metrics.observe('moorage_commit_seconds', tookMs / 1000, { outcome }, traceparent);
    // Where bytes bound a transaction, it never has as many operations as it may.
    const isFull = leftOthers || draft.operations >= this.#placementsEach;
    if (outcome === 'unknown') this.#window.unanswered(startedMs, nowMs);
    else this.#window.answered(tookMs, isFull);
    metrics.gauge('moorage_commit_window', this.#window.transactions);
  }

  /** A store revision that was certainly reached: what is sent now cannot have been applied before it. */
  #revisionKnown(batch: Batch): number {
    let revision = this.#newestRevision;
    for (const { before } of batch.draft.ledgers) revision = Math.max(revision, before.revision);
    for (const owner of batch.draft.owners) revision = Math.max(revision, owner.createRevision);
    return revision;
  }

  /** Reserves the hosts and pools for `work`, and decides what a fault of the store means for the units. */
  async #during(
    hosts: readonly string[],
    pools: readonly string[],
    units: readonly PendingUnit[],
    work: () => Promise<void>,
  ): Promise<void> {
    this.#inFlight += 1;
    this.#queue.hold(hosts, pools);
    try {
      await work();
      this.#backoff.reset();
      this.#outage.over();
    } catch (error) {
      this.#failed(units, error);
    } finally {
      this.#inFlight -= 1;
      this.#queue.release(hosts, pools);
      for (const host of hosts) this.#deps.book.sent(host);
      this.#pumpSoon();
    }
  }

  #failed(units: readonly PendingUnit[], error: unknown): void {
    if (error instanceof StoreError && error.retryable) {
      this.#retry(units);
      void this.#waitForStore(error);
      return;
    }
    if (error instanceof StoreError && error.code === 'too-large') {
      const [only] = units;
      if (units.length === 1 && only !== undefined)
        this.#tally.refuse(only, allOf(only.unit, { reason: 'too-large' }));
      else for (const pending of units) pending.shareWithFewer();
      if (units.length > 1) this.#retry(units);
      return;
    }
    for (const pending of units) pending.open.fail(error);
    this.#queue.dropFailed();
  }

  async #waitForStore(cause: StoreError): Promise<void> {
    if (this.#storeAway) return;
    this.#storeAway = true;
    this.#trouble = `${cause.code}: ${cause.message}`;
    const delayMs = this.#backoff.nextMs();
    this.#outage.failed(cause, delayMs);
    await sleep(this.#deps.clock, delayMs);
    this.#storeAway = false;
    this.#pumpSoon();
  }

  /** @param listings how often the ledgers had been listed anew when the transaction was sent */
  #applied(batch: Batch, { revision, exact }: AppliedAt, listings: number): void {
    // An upper bound may be the revision of another transaction: it says nothing about the ledgers.
    if (exact) this.#learn(batch.draft, revision, listings);
    for (const pending of batch.units) this.#tally.landed(pending, revision);
  }

  #learn(draft: TransactionDraft, revision: number, listings: number): void {
    const { book, options } = this.#deps;
    for (const { host, before, after } of draft.ledgers) {
      this.#replies.observe(host, after, revision);
      if (options.conflictCheck === 'version') this.#queue.followOwnCommit(host, before.revision, revision);
    }
    book.committed(revision, listings);
    for (const { pool, after, volume } of draft.pools) this.#pools.observe(pool, after, revision, volume);
  }

  #refused(batch: Batch, reply: AttemptReply & { readonly outcome: 'refused' }): void {
    const { keys, options, ownerRevisionOf } = this.#deps;
    this.#tally.count('refused');
    const snapshot = { entries: reply.found, revision: reply.revision };
    for (const { host } of batch.draft.ledgers) this.#replies.readLedger(host, snapshot);
    for (const { pool } of batch.draft.pools) this.#replies.readPool(pool, snapshot);
    for (const { name } of batch.draft.resources) this.#replies.readResource(name, snapshot);
    const found = foundIn(reply.found, keys);
    const pools = new Map(Array.from(batch.draft.pools, ({ pool, before }) => [pool, before.revision]));
    const resources = new Map(Array.from(batch.draft.resources, (r) => [r.name, r.modRevision]));
    const sent = {
      poolRevision: (pool: string) => pools.get(pool) ?? 0,
      resourceRevision: (name: string) => resources.get(name) ?? 0,
      ledgerRevision: (host: string) => batch.draft.comparedRevision(host) ?? 0,
      ownerRevision: ownerRevisionOf,
      intentRevision: (intent: IntentRef) => this.#deps.intentRevisionOf?.(intent),
    };
    const retried: PendingUnit[] = [];
    const byPools = isPoolRace(batch.draft, found);
    for (const pending of batch.units) {
      pending.lostRaces(sent, found);
      const { conflicts, moved } = conflictsIn(
        pending.unit,
        sent,
        found,
        options.conflictCheck === 'version',
      );
      if (!this.#tally.refuse(pending, conflicts)) continue;
      pending.refused(moved, byPools);
      if (pending.refusals > options.rebasesMax || pending.poolRaces > POOL_RACES_MAX)
        this.#tally.refuse(pending, allOf(pending.unit, { reason: 'contended' }));
      else retried.push(pending);
    }
    this.#retry(retried);
  }

  async #unknown(batch: Batch, cause: Error, sentAfter: number, listings: number): Promise<void> {
    const { keys, log, metrics } = this.#deps;
    log.debug({ cause: cause.message, units: batch.units.length }, 'a commit without an answer is read back');
    // All units of a batch have one session: those of a lost session have left the queue.
    const session = batch.units[0]?.open.session;
    const resolved = await resolveCommit(this.#deps, keys, batch.draft, sentAfter, session);
    if (resolved === null) throw sessionLost();
    const { applied, fencedAt } = resolved;
    this.#tally.count('unknownResolved');
    metrics.count('moorage_commit_unknown_total', { resolved: applied === null ? 'not-applied' : 'applied' });
    if (applied !== null) this.#applied(batch, applied, listings);
    else {
      const [first] = batch.draft.ledgers;
      if (fencedAt !== null && first !== undefined)
        this.#replies.observe(first.host, first.before.ledger, fencedAt);
      this.#retry(batch.units);
    }
  }
}

function sessionLost(): StoreError {
  return new StoreError('closed', 'the session is lost, and with it what was to be committed', {
    retryable: false,
  });
}

/** Nothing but a pool, or its definition, had moved: no host is contended. */
function isPoolRace(draft: TransactionDraft, found: FoundRevisions): boolean {
  for (const { host, before } of draft.ledgers)
    if (found.ledgerRevision(host) !== before.revision) return false;
  for (const { pool, before } of draft.pools) if (found.poolRevision(pool) !== before.revision) return true;
  for (const { name, modRevision } of draft.resources)
    if (found.resourceRevision(name) !== modRevision) return true;
  return false;
}
