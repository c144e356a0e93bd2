import type { Verdicts } from '../core/commit.ts';
import { allOf, judge, prune, unitsOf } from '../core/commit.ts';
import type { Host } from '../core/host.ts';
import type { CellKeys } from '../core/keys.ts';
import type { Ledger } from '../core/ledger.ts';
import { EMPTY_LEDGER } from '../core/ledger.ts';
import type { LedgerBook } from '../core/ledger-book.ts';
import type { ConflictCheck, Plan, PlanOutcome } from '../core/plan.ts';
import type { CellKnowledge } from '../core/transaction-draft.ts';
import { TransactionDraft } from '../core/transaction-draft.ts';
import type { AttemptReply, CellStore, Entry } from '../ports/cell-store.ts';
import { StoreError } from '../ports/cell-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { Log, Metrics } from '../ports/telemetry.ts';
import { RecordError } from '../wire/codec.ts';
import { ledgerCodec } from '../wire/records.ts';
import { Backoff } from './backoff.ts';
import type { AppliedAt } from './commit-attempt.ts';
import { appliedAt, attemptOf, doubtOf, foundIn, wasCreated } from './commit-attempt.ts';
import { OpenPlan, PendingUnit } from './open-plan.ts';
import type { Settled } from './read-back.ts';
import { settleDoubt } from './read-back.ts';
import { sleep } from './sleep.ts';

/** While this many transactions are under way, more are sent only when they are full: waiting fills them. */
const PARTIAL_IN_FLIGHT_MAX = 2;
/** How many queued units are looked at for one transaction: enough to fill it past hosts that are busy. */
const SCAN_MAX = 1_024;
/** Store away: try again soon, then every few seconds. Placements wait; nothing is lost by it. */
const STORE_AWAY = { firstMs: 50, maxMs: 5_000 };

export interface CommitterDeps {
  readonly store: CellStore;
  readonly keys: CellKeys;
  readonly book: LedgerBook;
  readonly hostOf: (id: string) => Host | undefined;
  /** Create revision of the owner key that we hold for the job; undefined when we hold none. */
  readonly ownerRevisionOf: (namespace: string, job: string) => number | undefined;
  /** Told of each ledger that a reply made known, after the book was, and before the plan's outcome is. */
  readonly onLedger?: (host: string, ledger: Ledger, revision: number) => void;
  /** More plans will be handed over in a moment: a transaction that is not full waits for them. Call `flush` when not. */
  readonly moreComing?: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly options: CommitterOptions;
}

export interface CommitterOptions {
  readonly conflictCheck: ConflictCheck;
  /** Transactions under way at once; 4 to 16 keep an etcd busy, more only add latency. */
  readonly inFlightMax: number;
  /** How often one unit may be refused and still be tried again. */
  readonly rebasesMax: number;
}

/** Counts of claims (places) by how they ended, and of transactions. */
export interface CommitterStats {
  readonly committed: number;
  readonly rebased: number;
  readonly conflicted: number;
  readonly released: number;
  readonly evicted: number;
  readonly transactions: number;
  readonly refused: number;
  /** Transactions whose outcome had to be read back. */
  readonly unknownResolved: number;
}

/**
 * Writes plans to the cell: several plans in one transaction where they fit, several transactions under way at once.
 *
 * A host takes part in one transaction at a time. So the ledger that the next one compares is known from the reply to the
 * one before, and we never conflict with ourselves; whoever needs a busy host waits in the queue. The order of the queue
 * is kept for each host.
 */
export class Committer {
  readonly #deps: CommitterDeps;
  readonly #knowledge: CellKnowledge;
  readonly #backoff: Backoff;
  readonly #busy = new Set<string>();
  #queue: PendingUnit[] = [];
  #inFlight = 0;
  /** The newest store revision that a reply told. */
  #newestRevision = 0;
  #pumpIsDue = false;
  #storeAway = false;
  #idle: (() => void)[] = [];
  #stats = {
    committed: 0,
    rebased: 0,
    conflicted: 0,
    released: 0,
    evicted: 0,
    transactions: 0,
    refused: 0,
    unknownResolved: 0,
  };

  constructor(deps: CommitterDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(STORE_AWAY, deps.random);
    this.#knowledge = {
      ledgerOf: (host) => deps.book.get(host),
      hostOf: deps.hostOf,
      ownerRevisionOf: deps.ownerRevisionOf,
    };
  }

  get stats(): CommitterStats {
    return { ...this.#stats };
  }

  /** Units that wait for their transaction. The caller bounds it by how many plans it has open. */
  get queued(): number {
    return this.#queue.length;
  }

  /**
   * Writes the plan, as far as it does not conflict. Takes as long as the store needs to answer: while it is away, plans
   * wait.
   *
   * @returns what became of every place, eviction and release, by allocation id
   * @throws StoreError that is not retryable: the store was closed, or refuses us. What was committed before is known
   *   from the store only.
   */
  commit(plan: Plan): Promise<PlanOutcome> {
    const units = unitsOf(plan, this.#deps.store.limits.operationsMax);
    const open = new OpenPlan(plan);
    for (const unit of units) {
      const pending = new PendingUnit(open, unit);
      if (this.#deps.options.conflictCheck === 'version') pending.see(this.#deps.book);
      this.#queue.push(pending);
    }
    if (units.length === 0) open.finish();
    this.#pumpSoon();
    return open.outcome;
  }

  /** No more is coming for now: what is there goes out as it is. */
  flush(): void {
    if (this.#queue.length > 0) this.#pumpSoon();
  }

  /** Resolves when nothing is queued or under way. */
  idle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #isIdle(): boolean {
    return this.#queue.length === 0 && this.#inFlight === 0 && !this.#storeAway;
  }

  /** Not at once: plans that are handed over in the same turn shall share a transaction. */
  #pumpSoon(): void {
    if (this.#pumpIsDue) return;
    this.#pumpIsDue = true;
    void Promise.resolve().then(() => {
      this.#pumpIsDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    const { operationsMax } = this.#deps.store.limits;
    const waits = this.#deps.moreComing?.() ?? false;
    // One for many hosts takes half the limit in ledgers and half in allocations; more fit where they share hosts.
    const full = waits ? operationsMax : operationsMax / 2;
    while (!this.#storeAway && this.#queue.length > 0 && this.#inFlight < this.#deps.options.inFlightMax) {
      const mayGo = this.#inFlight < PARTIAL_IN_FLIGHT_MAX && !waits;
      if (!mayGo && this.#queue.length < full) break;
      const batch = this.#nextBatch();
      if (batch === null) break;
      void this.#run(batch);
    }
    if (this.#isIdle()) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Takes from the queue what can go into one transaction now; null when all of it waits for busy hosts. */
  #nextBatch(): Batch | null {
    const operationsMax = this.#deps.store.limits.operationsMax;
    const draft = new TransactionDraft(this.#knowledge, operationsMax);
    const batch: Batch = { draft, units: [] };
    const blocked = new Set<string>();
    const waiting: PendingUnit[] = [];
    let scanned = 0;
    let roomLeft = true;
    while (roomLeft && scanned < this.#queue.length && waiting.length < SCAN_MAX) {
      const pending = this.#queue[scanned] as PendingUnit;
      const cap = pending.operationsCap(operationsMax);
      if (batch.units.length > 0 && draft.operations >= cap) break;
      scanned += 1;
      const hosts = pending.unit.parts;
      const added = hosts.some(({ host }) => this.#busy.has(host) || blocked.has(host))
        ? 'waits'
        : this.#addTo(batch, pending);
      if (added === 'waits' || added === 'full') {
        waiting.push(pending);
        for (const { host } of hosts) blocked.add(host);
      }
      roomLeft = added !== 'full';
    }
    this.#queue.splice(0, scanned, ...waiting);
    return batch.units.length === 0 ? null : batch;
  }

  #addTo(batch: Batch, pending: PendingUnit): 'added' | 'waits' | 'full' | 'gone' {
    for (;;) {
      const stale = pending.movedSinceSeen(
        (host) => batch.draft.comparedRevision(host) ?? this.#deps.book.get(host).revision,
      );
      if (stale.size > 0 && !this.#refuse(pending, stale)) return 'gone';
      const added = batch.draft.add(pending.unit);
      if (added === 'added') batch.units.push(pending);
      if (typeof added === 'string') return added;
      if (added.missing && !pending.refreshed) {
        void this.#refresh(pending);
        return 'gone';
      }
      if (!this.#refuse(pending, added.verdicts)) return 'gone';
    }
  }

  /** Settles what cannot land. @returns whether anything of the unit is left to try */
  #refuse(pending: PendingUnit, verdicts: Verdicts): boolean {
    const { rest, refused } = prune(pending.unit, verdicts);
    for (const part of pending.unit.parts) {
      for (const place of part.places) if (refused.has(place.id)) this.#stats.conflicted += 1;
    }
    for (const [id, why] of refused) pending.open.settle(id, { kind: 'conflicted', why });
    if (rest === null) return false;
    pending.unit = rest;
    return true;
  }

  /** The ledgers that we know do not hold what is to be freed. Perhaps they are old: read them, then decide. */
  async #refresh(pending: PendingUnit): Promise<void> {
    pending.refreshed = true;
    const hosts = pending.unit.parts.map((part) => part.host);
    await this.#during(hosts, [pending], async () => {
      const snapshot = await this.#deps.store.read(hosts.map((host) => this.#deps.keys.ledger(host)));
      for (const host of hosts)
        this.#learn(host, snapshot.entries.get(this.#deps.keys.ledger(host)), snapshot.revision);
      this.#queue.unshift(pending);
    });
  }

  readonly #sending = (host: string, ledger: Ledger, text: string): void =>
    this.#deps.book.sending(host, ledger, text);

  async #run(batch: Batch): Promise<void> {
    const hosts: string[] = [];
    for (const { host } of batch.draft.ledgers) hosts.push(host);
    await this.#during(hosts, batch.units, async () => {
      const { store, keys, clock, metrics } = this.#deps;
      const startedMs = clock.monotonicMs();
      const sentAfter = this.#revisionKnown(batch);
      // Given away at once, so that the texts of some hundred placements need not stay until the reply is here.
      const reply = await store.attempt(attemptOf(batch.draft, keys, this.#sending));
      this.#stats.transactions += 1;
      metrics.observe('moorage_commit_seconds', (clock.monotonicMs() - startedMs) / 1000, {
        outcome: reply.outcome,
      });
      if (reply.outcome !== 'unknown') this.#newestRevision = Math.max(this.#newestRevision, reply.revision);
      if (reply.outcome === 'applied') this.#applied(batch, reply.revision, true);
      else if (reply.outcome === 'refused') this.#refused(batch, reply);
      else await this.#unknown(batch, reply.cause, sentAfter);
    });
  }

  /** A store revision that was certainly reached: nothing that is sent now can have been applied before it. */
  #revisionKnown(batch: Batch): number {
    let revision = this.#newestRevision;
    for (const { before } of batch.draft.ledgers) revision = Math.max(revision, before.revision);
    for (const owner of batch.draft.owners) revision = Math.max(revision, owner.createRevision);
    return revision;
  }

  /** Keeps the hosts to itself while `work` runs, and decides what a fault of the store means for the units. */
  async #during(
    hosts: readonly string[],
    units: readonly PendingUnit[],
    work: () => Promise<void>,
  ): Promise<void> {
    this.#inFlight += 1;
    for (const host of hosts) this.#busy.add(host);
    try {
      await work();
      this.#backoff.reset();
    } catch (error) {
      this.#failed(units, error);
    } finally {
      this.#inFlight -= 1;
      for (const host of hosts) {
        this.#busy.delete(host);
        this.#deps.book.sent(host);
      }
      this.#pumpSoon();
    }
  }

  #failed(units: readonly PendingUnit[], error: unknown): void {
    if (error instanceof StoreError && error.retryable) {
      this.#queue.unshift(...units);
      void this.#waitForStore(error);
      return;
    }
    if (error instanceof StoreError && error.code === 'too-large') {
      const [only] = units;
      if (units.length === 1 && only !== undefined)
        this.#refuse(only, allOf(only.unit, { reason: 'too-large' }));
      else for (const pending of units) pending.shareWithFewer();
      if (units.length > 1) this.#queue.unshift(...units);
      return;
    }
    for (const pending of units) pending.open.fail(error);
    this.#queue = this.#queue.filter((pending) => !pending.open.failed);
  }

  async #waitForStore(cause: StoreError): Promise<void> {
    if (this.#storeAway) return;
    this.#storeAway = true;
    const delayMs = this.#backoff.nextMs();
    this.#deps.log.warn({ code: cause.code, delayMs: Math.round(delayMs) }, `commits wait: ${cause.message}`);
    await sleep(this.#deps.clock, delayMs);
    this.#storeAway = false;
    this.#pumpSoon();
  }

  /** @param exact false: the revision is only a bound from above, so nothing is learnt about the ledgers */
  #applied(batch: Batch, revision: number, exact: boolean): void {
    for (const { host, before, after } of batch.draft.ledgers) {
      if (!exact) continue;
      this.#know(host, after, revision);
      if (this.#deps.options.conflictCheck === 'version')
        for (const pending of this.#queue) pending.followOwn(host, before.revision, revision);
    }
    for (const pending of batch.units) {
      const kind = pending.rebased ? 'rebased' : 'committed';
      const outcome = { kind, revision } as const;
      for (const part of pending.unit.parts) {
        this.#stats[kind] += part.places.length;
        this.#stats.released += part.releases.length;
        this.#stats.evicted += part.evictions.length;
        for (const place of part.places) pending.open.settle(place.id, outcome);
        for (const { victim } of part.evictions) pending.open.settle(victim.id, outcome);
        for (const { allocation } of part.releases) pending.open.settle(allocation.id, outcome);
      }
    }
  }

  #refused(batch: Batch, reply: AttemptReply & { readonly outcome: 'refused' }): void {
    const { keys, options, ownerRevisionOf } = this.#deps;
    this.#stats.refused += 1;
    for (const { host } of batch.draft.ledgers)
      this.#learn(host, reply.found.get(keys.ledger(host)), reply.revision);
    const found = foundIn(reply.found, keys);
    const sent = {
      ledgerRevision: (host: string) => batch.draft.comparedRevision(host) ?? 0,
      ownerRevision: ownerRevisionOf,
    };
    const again: PendingUnit[] = [];
    for (const pending of batch.units) {
      const { verdicts, moved } = judge(pending.unit, sent, found, options.conflictCheck === 'version');
      if (!this.#refuse(pending, verdicts)) continue;
      pending.refused(moved);
      if (pending.refusals > options.rebasesMax)
        this.#refuse(pending, allOf(pending.unit, { reason: 'contended' }));
      else again.push(pending);
    }
    this.#queue.unshift(...again);
  }

  async #unknown(batch: Batch, cause: Error, sentAfter: number): Promise<void> {
    const { keys, log, store, clock, random, metrics } = this.#deps;
    log.debug({ cause: cause.message, units: batch.units.length }, 'a commit without an answer is read back');
    const settled = await settleDoubt({ store, clock, random }, doubtOf(batch.draft, keys));
    const applied =
      appliedAt(batch.draft, settled, keys) ?? (await this.#createdSince(batch, settled, sentAfter));
    this.#stats.unknownResolved += 1;
    metrics.count('moorage_commit_unknown_total', { resolved: applied === null ? 'not-applied' : 'applied' });
    if (applied !== null) this.#applied(batch, applied.revision, applied.exact);
    else {
      const [first] = batch.draft.ledgers;
      if (settled.fenced && first !== undefined)
        this.#know(first.host, first.before.ledger, settled.revision);
      this.#queue.unshift(...batch.units);
    }
  }

  /** The last doubt: it may have landed, and what it placed may be gone again. The history knows, as far as it is kept. */
  async #createdSince(batch: Batch, settled: Settled, sentAfter: number): Promise<AppliedAt | null> {
    if (settled.fenced) return null;
    const { store, keys, clock, random } = this.#deps;
    const backoff = new Backoff(STORE_AWAY, random);
    for (;;) {
      try {
        const revision = await wasCreated(batch.draft, store, keys, sentAfter);
        return revision === null ? null : { revision, exact: true };
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        // Forgotten in the seconds since: then its absence now is the best answer there is.
        if (error.code === 'compacted') return null;
        if (!error.retryable) throw error;
        await sleep(clock, backoff.nextMs());
      }
    }
  }

  /** Takes in what was read of a host's ledger. */
  #learn(host: string, entry: Entry | undefined, revision: number): void {
    if (entry === undefined) this.#know(host, null, revision);
    else if (entry.modRevision > this.#deps.book.get(host).revision) {
      try {
        this.#know(host, ledgerCodec.decode(entry.value), entry.modRevision);
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        // The host stays as it was known; its commits go on being refused, until somebody repairs the record.
        this.#deps.log.error({ host, error: error.message }, 'the ledger of a host cannot be read');
      }
    }
  }

  #know(host: string, ledger: Ledger | null, revision: number): void {
    if (!this.#deps.book.observe(host, ledger, revision)) return;
    if (ledger === null) this.#deps.onLedger?.(host, EMPTY_LEDGER, 0);
    else this.#deps.onLedger?.(host, ledger, revision);
  }
}

interface Batch {
  readonly draft: TransactionDraft;
  readonly units: PendingUnit[];
}
