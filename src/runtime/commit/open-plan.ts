import type { Conflicts, FoundRevisions, SentRevisions } from '../../core/commit/conflicts.ts';
import type { Unit } from '../../core/commit/commit.ts';
import { poolsIn } from '../../core/commit/commit.ts';
import type { LedgerBook } from '../../core/commit/ledger-book.ts';
import type { ConflictReason, LedgerRace, PartOutcome, Plan, PlanOutcome } from '../../core/commit/plan.ts';

/** A unit that was refused this often shares its transactions with fewer units, so that it is not refused for theirs. */
const REFUSALS_BEFORE_SHARING_LESS = 2;

const NO_CONFLICTS: Conflicts = new Map();
const NO_RACE = {};

/** A plan under way: collects one outcome for each of its allocations, and is done when none is missing. */
export class OpenPlan {
  readonly outcome: Promise<PlanOutcome>;
  /** The session under which the plan was made; when it is aborted, nothing more is sent for the plan. */
  readonly session: AbortSignal | undefined;
  /** Of a recorded trace. */
  readonly traceparent: string | undefined;
  /** In the plan's order; null: not yet. Handed out when none is null. */
  readonly #outcomes = new Map<string, PartOutcome | null>();
  #missing: number;
  #resolve: (outcome: PlanOutcome) => void = () => undefined;
  #reject: (cause: unknown) => void = () => undefined;
  #failed = false;

  constructor(plan: Plan, session?: AbortSignal) {
    this.session = session;
    this.traceparent = plan.traceparent;
    const outcomes = this.#outcomes;
    for (const place of plan.places) outcomes.set(place.id, null);
    for (const { victim } of plan.evictions) outcomes.set(victim.id, null);
    for (const { allocation } of plan.releases) outcomes.set(allocation.id, null);
    this.#missing = outcomes.size;
    if (this.#missing !== plan.places.length + plan.evictions.length + plan.releases.length)
      throw new Error(`plan ${plan.id} names an allocation twice`);
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get failed(): boolean {
    return this.#failed;
  }

  /** @throws when the allocation is not of the plan or had its outcome already: every part of a plan ends once */
  settle(id: string, outcome: PartOutcome): void {
    if (this.#outcomes.get(id) !== null) throw new Error(`allocation ${id} ended twice in one plan`);
    this.#outcomes.set(id, outcome);
    this.#missing -= 1;
    if (this.#missing === 0) this.finish();
  }

  finish(): void {
    if (this.#missing !== 0) throw new Error('a plan ended before all of its parts did');
    this.#resolve(this.#outcomes as PlanOutcome);
  }

  fail(cause: unknown): void {
    this.#failed = true;
    this.#reject(cause);
  }
}

/** A unit that waits for its transaction, or is in one. */
export class PendingUnit {
  readonly open: OpenPlan;
  unit: Unit;
  /** Pools that the whole unit claims from or releases to. */
  readonly pools: readonly string[];
  /** Refusals of a transaction with this unit for another reason than its pools. */
  refusals = 0;
  /** Refusals where only a pool had moved, of this unit or of one in the same transaction. */
  poolRaces = 0;
  /** A ledger of the unit moved after the plan was made. */
  rebased = false;
  /** The ledgers were read afresh for this unit. */
  refreshed = false;
  /** The last race for the ledger of each host; null: none. */
  #races: Map<string, LedgerRace> | null = null;
  #fewer = 0;
  /** Under `conflictCheck: version`: the ledger revisions that the plan was made on. */
  #seen: Map<string, number> | null = null;

  constructor(open: OpenPlan, unit: Unit) {
    this.open = open;
    this.unit = unit;
    this.pools = poolsIn(unit);
  }

  /**
   * @param byPools only pools had moved: every claim on a pool meets there, so smaller transactions would only meet more often
   */
  refused(moved: boolean, byPools: boolean): void {
    if (byPools) this.poolRaces += 1;
    else this.refusals += 1;
    this.rebased ||= moved;
  }

  lostRaces(sent: SentRevisions, found: FoundRevisions): void {
    for (const { host } of this.unit.parts) {
      const race = { readRevision: sent.ledgerRevision(host), foundRevision: found.ledgerRevision(host) };
      if (race.readRevision !== race.foundRevision) (this.#races ??= new Map()).set(host, race);
    }
  }

  /** For an outcome of a part on the host. */
  raceFor(host: string): { readonly race?: LedgerRace } {
    const race = this.#races?.get(host);
    return race === undefined ? NO_RACE : { race };
  }

  shareWithFewer(): void {
    this.#fewer += 1;
  }

  /** Operations from which on a transaction is too large for this unit to join. */
  operationsCap(operationsMax: number): number {
    const halvings = this.#fewer + Math.max(0, this.refusals - REFUSALS_BEFORE_SHARING_LESS);
    return operationsMax >> Math.min(halvings, 30);
  }

  noteRevisions(book: LedgerBook): void {
    this.#seen = new Map(this.unit.parts.map(({ host }) => [host, book.get(host).revision]));
  }

  /** Our own commit moved the ledger: no conflict for a plan that was made on the revision before. */
  followOwnCommit(host: string, from: number, to: number): void {
    if (this.#seen?.get(host) === from) this.#seen.set(host, to);
  }

  /** Places on hosts whose ledger another process moved after the plan was made. */
  movedSinceNoted(revisionOf: (host: string) => number): Conflicts {
    if (this.#seen === null) return NO_CONFLICTS;
    const conflicts = new Map<string, ConflictReason>();
    for (const part of this.unit.parts) {
      if (this.#seen.get(part.host) === revisionOf(part.host)) continue;
      for (const place of part.places) conflicts.set(place.id, { reason: 'version' });
    }
    return conflicts;
  }
}
