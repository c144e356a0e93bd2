import type { Allocation, Outcome } from '../cell/allocation.ts';
import type { Owner } from '../cell/cell.ts';
import type { Conflicts } from './conflicts.ts';
import type { HostPart, Unit } from './commit.ts';
import { allOf } from './conflicts.ts';
import { revertOperations } from './commit.ts';
import type { DraftPool, PoolKnowledge, Refused, ResourceCompare } from './draft-pools.ts';
import { DraftPools, missing, noFit } from './draft-pools.ts';
import { evictedBy, reverted, REVERT_OPERATIONS_MAX } from './pending-preemption.ts';
import { jobKeyOf } from '../cell/ids.ts';
import type { Host, LostHost } from '../host/host.ts';
import type { IntentRef } from '../cell/intent.ts';
import { intentOf } from '../cell/intent.ts';
import type { Shortfall } from '../cell/resources.ts';
import type { Ledger } from '../fit/ledger.ts';
import { fitShortfall } from '../fit/fit.ts';
import { withClaim } from '../fit/ledger.ts';
import type { KnownLedger } from './ledger-book.ts';
import { afterEviction, afterRelease, afterRevert, isUntimely } from './ledger-changes.ts';
import type { ConflictReason } from './plan.ts';
import type { PoolBook } from '../quota/pool-book.ts';

/** What a draft asks about the cell while it is filled. */
export interface CellKnowledge {
  ledgerOf(host: string): KnownLedger;
  hostOf(id: string): Host | undefined;
  /** Create revision of this scheduler's owner key for the job; undefined: none. */
  ownerRevisionOf(namespace: string, job: string): number | undefined;
  /** Mod revision of this scheduler's open intent; undefined: none. */
  intentRevisionOf(intent: IntentRef): number | undefined;
  readonly pools: PoolBook;
}

/**
 * - `added`
 * - `full`: it needs more operations than are left
 * - `waits`: it conflicts only with an earlier part of this draft, whose outcome must be known first
 * - conflicts: these allocations cannot land; `missing`: because the known ledger does not hold what they would free: the
 *   ledger may be old, or the allocation gone
 */
export type Addition = 'added' | 'full' | 'waits' | Refused;

/** A ledger in a draft: as it was, and as it would be. */
export interface DraftLedger {
  readonly host: string;
  readonly before: KnownLedger;
  readonly after: Ledger;
}

export interface OwnerCompare {
  readonly namespace: string;
  readonly job: string;
  /** 0: it has none. */
  readonly createRevision: number;
  /** Who becomes it; absent: nobody. */
  readonly claimedBy?: Owner;
}

export interface IntentCompare {
  readonly intent: IntentRef;
  readonly modRevision: number;
}

export interface AllocationCompare {
  readonly allocation: Allocation;
  readonly modRevision: number;
}

/**
 * A transaction that is being built. Ledgers change together with allocations, so whatever lands, a ledger equals the sum
 * of the live allocations on its host (I3). The fit rule runs on every place as it is added (I1).
 */
export class TransactionDraft {
  readonly #knowledge: CellKnowledge;
  readonly #poolKnowledge: PoolKnowledge;
  readonly #operationsMax: number;
  readonly #ledgers = new Map<string, DraftLedger>();
  readonly #owners = new Map<string, OwnerCompare>();
  /** Jobs of them that are claimed. */
  #claims = 0;
  /** Cache: units of one job follow one another. */
  #lastOwner: OwnerCompare | null = null;
  readonly #intents = new Map<string, IntentCompare>();
  /** By host and revision: of two that contradict each other, the reply shows which is old. */
  readonly #lostHosts = new Map<string, LostHost>();
  /** Namespaces that must have no quota; null: none need. Most transactions are of one namespace. */
  #unlimited: Set<string> | null = null;
  #shares = NO_SHARES;
  /** Victims and allocations to release: only the record that was read may be changed. Lists are read only outside. */
  readonly compared: AllocationCompare[] = [];
  /** New allocations, and victims in their new state. */
  readonly puts: Allocation[] = [];
  readonly deletes: Allocation[] = [];
  readonly outcomes: Outcome[] = [];
  /** Allocations already changed here: a transaction may write a key only once. */
  readonly #freed = new Set<string>();

  /** @param operationsMax bound on max(compares, writes, read-backs) */
  constructor(knowledge: CellKnowledge, operationsMax: number) {
    this.#knowledge = knowledge;
    const isLost = (host: string): boolean => knowledge.ledgerOf(host).ledger.state === 'lost';
    this.#poolKnowledge = { pools: knowledge.pools, isLost };
    this.#operationsMax = operationsMax;
  }

  get ledgers(): IterableIterator<DraftLedger> {
    return this.#ledgers.values();
  }

  get owners(): IterableIterator<OwnerCompare> {
    return this.#owners.values();
  }

  /** Intents of the members placed here, still open, or of those released, void. */
  get intents(): IterableIterator<IntentCompare> {
    return this.#intents.values();
  }

  /** Hosts that must still be lost, since what is placed here stands in for what they hold. */
  get lostHosts(): IterableIterator<LostHost> {
    return this.#lostHosts.values();
  }

  /** Namespaces that must have no quota, since nothing that is placed here was granted within one. */
  get unlimited(): Iterable<string> {
    return this.#unlimited ?? NO_NAMESPACES;
  }

  get pools(): IterableIterator<DraftPool> {
    return this.#shares.pools.values();
  }

  /** The definitions by which the pools were found to be large enough. */
  get resources(): IterableIterator<ResourceCompare> {
    return this.#shares.resources.values();
  }

  get isEmpty(): boolean {
    return this.#ledgers.size === 0;
  }

  /** The larger of compares and writes; each compare is also one read-back. */
  get operations(): number {
    return Math.max(this.#compares(), this.#writes());
  }

  /** The revision of the host's ledger that this draft compares; undefined: the host is not in it. */
  comparedRevision(host: string): number | undefined {
    return this.#ledgers.get(host)?.before.revision;
  }

  /** Adds all of the unit or nothing. */
  add(unit: Unit): Addition {
    const owners = this.#ownersFor(unit);
    if (!Array.isArray(owners)) return { conflicts: owners, missing: false };
    const intents = this.#intentsFor(unit);
    if (!Array.isArray(intents)) return { conflicts: intents, missing: false };
    const shares = this.#shares.with(unit, this.#poolKnowledge);
    if (shares === 'waits' || 'conflicts' in shares) return shares;
    const poolsMore = shares.pools.size - this.#shares.pools.size;
    const comparesMore = shares.resources.size - this.#shares.resources.size;
    const lostHosts = this.#lostHostsFor(unit);
    const unlimited = this.#unlimitedFor(unit);
    const beside = lostHosts.size + unlimited.length;
    const compares = owners.length + intents.length + beside + poolsMore + comparesMore;
    const claim = unit.jobClaim === undefined ? NO_CLAIM : CLAIM_OPERATIONS;
    const more = { compares: compares + claim.compares, writes: poolsMore + claim.writes };
    const revertMax = Math.min(REVERT_OPERATIONS_MAX, this.#operationsMax);
    const canRevert = unit.parts.every((part) => revertOperations(part) <= revertMax);
    if (!canRevert || this.#operationsWith(unit, more) > this.#operationsMax) {
      if (canRevert && !this.isEmpty) return 'full';
      return { conflicts: allOf(unit, { reason: 'too-large' }), missing: false };
    }
    const drafts: DraftLedger[] = [];
    for (const part of unit.parts) {
      const result = this.#apply(part);
      if (result === 'waits' || 'conflicts' in result) return result;
      drafts.push(result);
    }
    for (const draft of drafts) this.#ledgers.set(draft.host, draft);
    for (const owner of owners) {
      this.#owners.set(jobKeyOf(owner.namespace, owner.job), owner);
      this.#lastOwner = owner;
      if (owner.claimedBy !== undefined) this.#claims += 1;
    }
    for (const compare of intents) this.#intents.set(compare.intent.id, compare);
    for (const [name, lost] of lostHosts) this.#lostHosts.set(name, lost);
    for (const namespace of unlimited) (this.#unlimited ??= new Set()).add(namespace);
    this.#shares = shares;
    for (const part of unit.parts) this.#record(part);
    return 'added';
  }

  #compares(): number {
    const shared = this.#shares.pools.size + this.#shares.resources.size;
    const conditions = this.#lostHosts.size + (this.#unlimited?.size ?? 0);
    const beside = this.#owners.size + this.#intents.size + conditions;
    const empty = this.#claims * CLAIM_OPERATIONS.compares;
    return this.#ledgers.size + beside + empty + this.compared.length + shared;
  }

  #writes(): number {
    const claims = this.#claims * CLAIM_OPERATIONS.writes;
    const records = this.puts.length + this.deletes.length + this.outcomes.length + claims;
    return this.#ledgers.size + this.#shares.pools.size + records;
  }

  #operationsWith(unit: Unit, more: { readonly compares: number; readonly writes: number }): number {
    let compares = this.#compares() + more.compares;
    let writes = this.#writes() + more.writes;
    for (const part of unit.parts) {
      const hostsMore = this.#ledgers.has(part.host) ? 0 : 1;
      compares += hostsMore + part.evictions.length + part.releases.length;
      writes += hostsMore + part.places.length + part.evictions.length + part.releases.length;
      for (const { outcome, reverts } of part.releases) {
        if (outcome !== null) writes += 1;
        compares += reverts?.length ?? 0;
        writes += reverts?.length ?? 0;
      }
    }
    return Math.max(compares, writes);
  }

  /** The owner compares that the unit adds; conflicts when this scheduler does not own one of its jobs. */
  #ownersFor(unit: Unit): OwnerCompare[] | Conflicts {
    if (unit.jobClaim !== undefined) {
      const { namespace, job, by } = unit.jobClaim;
      return [{ namespace, job, createRevision: 0, claimedBy: by }];
    }
    const more: OwnerCompare[] = [];
    let conflicts: Map<string, ConflictReason> | null = null;
    for (const part of unit.parts) {
      for (const { id, namespace, job } of part.places) {
        if (this.#isCompared(namespace, job, more)) continue;
        const createRevision = this.#knowledge.ownerRevisionOf(namespace, job);
        if (createRevision === undefined) (conflicts ??= new Map()).set(id, { reason: 'not-owner' });
        else more.push({ namespace, job, createRevision });
      }
      // Only the owner releases, or any process while the job has none: an owner would work on with a deleted record.
      for (const { allocation, voidedAt } of part.releases) {
        const { namespace, job } = allocation;
        if (voidedAt !== undefined) continue;
        if (this.#isCompared(namespace, job, more)) continue;
        more.push({ namespace, job, createRevision: this.#knowledge.ownerRevisionOf(namespace, job) ?? 0 });
      }
    }
    return conflicts ?? more;
  }

  /** The intents that the unit adds; conflicts when one of them is no longer open. */
  #intentsFor(unit: Unit): IntentCompare[] | Conflicts {
    const more: IntentCompare[] = [];
    let conflicts: Map<string, ConflictReason> | null = null;
    const add = (intent: IntentRef, modRevision: number): void => {
      const isThere = this.#intents.has(intent.id) || more.some((other) => other.intent.id === intent.id);
      if (!isThere) more.push({ intent, modRevision });
    };
    const addOpen = (intent: IntentRef | undefined, id: string): void => {
      if (intent === undefined) return;
      const modRevision = this.#knowledge.intentRevisionOf(intent);
      if (modRevision === undefined) (conflicts ??= new Map()).set(id, { reason: 'intent-gone' });
      else add(intent, modRevision);
    };
    for (const part of unit.parts) {
      for (const place of part.places) addOpen(intentOf(place), place.id);
      for (const { victim, yields } of part.evictions) addOpen(yields?.intent, victim.id);
      for (const { allocation, voidedAt } of part.releases) {
        const intent = intentOf(allocation);
        if (voidedAt !== undefined && intent !== undefined) add(intent, voidedAt);
      }
    }
    return conflicts ?? more;
  }

  /** The lost hosts that the unit adds. */
  #lostHostsFor({ lostHosts, parts }: Unit): ReadonlyMap<string, LostHost> {
    if (lostHosts === undefined) return NO_LOST_HOSTS;
    const more = new Map<string, LostHost>();
    for (const { places } of parts)
      for (const { id } of places)
        for (const lost of lostHosts.get(id) ?? []) {
          const name = `${lost.host} ${String(lost.revision)}`;
          if (!this.#lostHosts.has(name)) more.set(name, lost);
        }
    return more;
  }

  /** The namespaces without a quota that the unit adds. */
  #unlimitedFor({ withoutQuota, parts }: Unit): readonly string[] {
    if (withoutQuota !== true) return NO_NAMESPACES;
    const more: string[] = [];
    for (const { places } of parts)
      for (const { namespace } of places)
        if (this.#unlimited?.has(namespace) !== true && !more.includes(namespace)) more.push(namespace);
    return more;
  }

  #isCompared(namespace: string, job: string, more: readonly OwnerCompare[]): boolean {
    const last = more[more.length - 1] ?? this.#lastOwner;
    if (last !== null && last.job === job && last.namespace === namespace) return true;
    if (this.#owners.has(jobKeyOf(namespace, job))) return true;
    return more.some((owner) => owner.job === job && owner.namespace === namespace);
  }

  #apply(part: HostPart): DraftLedger | Exclude<Addition, 'added' | 'full'> {
    const draft = this.#ledgers.get(part.host);
    const before = draft?.before ?? this.#knowledge.ledgerOf(part.host);
    let ledger = draft?.after ?? before.ledger;
    for (const release of part.releases) {
      const { allocation } = release;
      if (this.#freed.has(allocation.id)) return 'waits';
      if (isUntimely(release, ledger)) return { ...missing(allocation), missing: false };
      const freed = afterRelease(ledger, allocation);
      if (freed === null) return draft === undefined ? missing(allocation) : 'waits';
      ledger = freed;
    }
    for (const { allocation, reverts } of part.releases)
      for (const back of reverts ?? []) {
        if (this.#freed.has(back.victim.id)) return 'waits';
        const returned = afterRevert(ledger, back);
        if (returned === null) return draft === undefined ? missing(allocation) : 'waits';
        ledger = returned;
      }
    for (const eviction of part.evictions) {
      const { victim } = eviction;
      if (this.#freed.has(victim.id)) return 'waits';
      // A victim that is evicted already has nothing left to free.
      if (victim.desired === 'evict') return { ...missing(victim), missing: false };
      const rest = afterEviction(ledger, eviction);
      if (rest === null) return draft === undefined ? missing(victim) : 'waits';
      ledger = rest;
    }
    if (part.places.length === 0) return { host: part.host, before, after: ledger };
    const host = this.#knowledge.hostOf(part.host);
    for (const place of part.places) {
      const short =
        host === undefined
          ? { dimension: 'host', needed: 1, available: 0 }
          : (outdatedBy(ledger, place) ?? fitShortfall(host, ledger, place));
      if (short !== null) {
        if (draft !== undefined) return 'waits';
        return { conflicts: noFit(part.places, short), missing: false };
      }
      ledger = withClaim(ledger, place);
    }
    return { host: part.host, before, after: ledger };
  }

  #record(part: HostPart): void {
    for (const { allocation, revision, outcome, reverts } of part.releases) {
      for (const back of reverts ?? []) {
        this.#freed.add(back.victim.id);
        this.compared.push({ allocation: back.victim, modRevision: back.revision });
        this.puts.push(reverted(back.victim));
      }
      this.#freed.add(allocation.id);
      this.compared.push({ allocation, modRevision: revision });
      this.deletes.push(allocation);
      if (outcome !== null) this.outcomes.push(outcome);
    }
    for (const eviction of part.evictions) {
      const { victim, victimRevision } = eviction;
      this.#freed.add(victim.id);
      this.compared.push({ allocation: victim, modRevision: victimRevision });
      this.puts.push(evictedBy(eviction));
    }
    for (const place of part.places) this.puts.push(place);
  }
}

/**
 * A place that was decided before a change of the host's eligibility, and lands after it, would bear an epoch that says otherwise: a fence
 * of that change would take it for what it has ended.
 */
function outdatedBy({ counter }: Ledger, { epoch }: Allocation): Shortfall | null {
  if (epoch.counter >= counter) return null;
  return { dimension: 'eligibility', needed: counter, available: epoch.counter };
}

/** Of a claim beside the owner's compare: nothing may lie under the job's allocations and outcomes; the owner key is written. */
const CLAIM_OPERATIONS = { compares: 2, writes: 1 };
const NO_CLAIM = { compares: 0, writes: 0 };

/** Most transactions take of no pool. */
const NO_SHARES = new DraftPools();
const NO_LOST_HOSTS: ReadonlyMap<string, LostHost> = new Map();
const NO_NAMESPACES: readonly string[] = [];
