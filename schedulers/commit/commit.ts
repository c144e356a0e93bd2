import type {
  Atomicity,
  ConflictReason,
  Eviction,
  PlanOutcome,
  Release,
} from '../../src/core/commit/plan.ts';
import { shortText } from '../../src/core/placement/filters.ts';
import { pendingEvictions } from '../../src/core/commit/pending-preemption.ts';
import type { StartTerms } from '../../src/core/quota/ticket.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import type { SharedUse } from '../../src/core/cell/claim.ts';
import type { StoreLimits } from '../../src/ports/cell-store.ts';
import { block } from '../state/group-backoff.ts';
import type { Term } from '../state/state.ts';
import { isCurrent } from '../state/state.ts';
import { isWholeOnly, staysWhole } from '../gangs/gangs.ts';
import type { FreshStarts } from '../hosts/start-queue.ts';
import type { Intents } from '../gangs/intents.ts';
import type { LaunchBook } from './start-terms.ts';
import { startTermsOf } from './start-terms.ts';
import type { SchedulerOptions } from '../policies/options.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import type { TicketDesk } from './ticket-client.ts';
import type { TicketOutcome } from '../../src/clients/arbiter-client.ts';

/** Conflicting tries in a row before a group is put off (I11): eight losses mean that others are faster just here. */
export const CONFLICTS_MAX = 8;

/** After a fault of the store, before the job is read again. */
const RELOAD_DELAY_MS = 1_000;
/** When an arbiter does not say when to ask again: its limit or the use must change first, which takes a while. */
const TICKET_RETRY_MS = 5_000;
/** Before a gang is decided anew of which others left meanwhile. */
const GANG_AGAIN_MS = 200;

export interface LauncherParts {
  readonly book: LaunchBook;
  readonly desk: TicketDesk;
  readonly starts: FreshStarts;
  readonly intents: Intents;
  /** A plan has come to its end. */
  readonly onLaunched: () => void;
  /** What the job wants now. */
  readonly fillsOf: (job: OwnedJob) => readonly Fill[];
}

/**
 * Brings decided placements to the hosts, in the order that S4.27 asks for: they are in memory already; then tickets,
 * then the commit, and only what is committed is started. What is refused on the way is taken back.
 */
export class Launcher {
  readonly #term: Term;
  readonly #book: LaunchBook;
  readonly #desk: TicketDesk;
  readonly #starts: FreshStarts;
  readonly #intents: Intents;
  readonly #onLaunched: () => void;
  readonly #fillsOf: LauncherParts['fillsOf'];
  /** Placements between decision and commit. */
  #underWay = 0;
  #committing = 0;

  constructor(term: Term, parts: LauncherParts) {
    this.#term = term;
    this.#book = parts.book;
    this.#desk = parts.desk;
    this.#starts = parts.starts;
    this.#intents = parts.intents;
    this.#onLaunched = parts.onLaunched;
    this.#fillsOf = parts.fillsOf;
  }

  get underWay(): number {
    return this.#underWay;
  }

  /** Those of them that have their tickets: what the store is given. */
  get committing(): number {
    return this.#committing;
  }

  /**
   * @param entries of one job, already assumed; for `all-or-nothing` they stand or fall together
   * @param evictions who gives way to them, in the same commit
   * @param releases what goes with all of them, or stays; the entries' revisions say which
   * @returns false: an arbiter or the store did not answer, or others of their gang were on their way out, so that the same may be
   *   done later
   */
  async launch(
    job: OwnedJob,
    planId: string,
    entries: readonly Entry[],
    atomicity: Atomicity,
    evictions: readonly Eviction[] = [],
    releases: readonly Release[] = [],
  ): Promise<boolean> {
    this.#underWay += entries.length;
    try {
      const { enforcement } = this.#term.options;
      const answers = enforcement ? await this.#ask(job, entries, atomicity) : null;
      const ready = answers === null ? entries : this.#withTickets(job, entries, answers, atomicity);
      const answered = answers?.every((answer) => !('unanswered' in answer)) ?? true;
      if (ready.length === 0) return answered;
      if (!this.#staysWhole(job, ready, releases)) {
        for (const entry of ready) this.#takeBack(job, entry);
        // It may be whole a moment later: no reason to end what runs of it.
        return false;
      }
      const commit = this.#commit(job, planId, ready, atomicity, { evictions, releases });
      const [first] = ready;
      const isOfGang = first !== undefined && isWholeOnly(job, job.record.job.groups[first.allocation.group]);
      if (isOfGang) job.setCommit(first.allocation.group, commit);
      return await commit;
    } finally {
      this.#underWay -= entries.length;
      const isPlain = atomicity === 'incremental' && evictions.length === 0 && releases.length === 0;
      if (!job.dropped && !(isPlain && isAtRest(job, entries))) this.#term.look(job);
      this.#onLaunched();
    }
  }

  #withTickets(
    job: OwnedJob,
    entries: readonly Entry[],
    answers: readonly TicketOutcome[],
    atomicity: Atomicity,
  ): readonly Entry[] {
    const ready: Entry[] = [];
    for (const [i, entry] of entries.entries()) {
      const answer = answers[i];
      if (answer !== undefined && 'ticket' in answer) {
        entry.ticket = { text: answer.ticket, expiresMs: answer.expiresMs };
        ready.push(entry);
      } else {
        this.#takeBack(job, entry);
        if (answer !== undefined) this.#ticketRefused(job, entry, answer);
      }
    }
    const isPartOfGang = atomicity === 'all-or-nothing' && ready.length < entries.length;
    // Stopped meanwhile, it would be placed only to be stopped; of a gang perhaps beside nobody any more.
    const isWanted = !job.dropped && job.record.desired === 'run' && !this.#term.signal.aborted;
    if (!isPartOfGang && isWanted) return ready;
    for (const entry of ready) this.#takeBack(job, entry);
    return [];
  }

  /** While tickets were asked for, what the gang was decided beside may have gone: then it is decided anew. */
  #staysWhole(job: OwnedJob, entries: readonly Entry[], releases: readonly Release[]): boolean {
    const group = job.record.job.groups[entries[0]?.allocation.group ?? ''];
    if (!isWholeOnly(job, group)) return true;
    // The store may hold marks of which we do not know.
    if (job.stale) return false;
    const leaving = new Set(releases.map(({ allocation }) => allocation.id));
    const isLost = (host: string): boolean => this.#term.cell.standing(host).state === 'lost';
    const open = (): number => this.#fillsOf(job).filter((fill) => fill.group === group.name).length;
    if (staysWhole(job, group, entries, { leaving, isLost, open })) return true;
    block(this.#term, job, group.name, 'others of its gang have left meanwhile', GANG_AGAIN_MS);
    return false;
  }

  /** @returns one outcome for each entry, in their order */
  async #ask(
    job: OwnedJob,
    entries: readonly Entry[],
    atomicity: Atomicity,
  ): Promise<readonly TicketOutcome[]> {
    if (atomicity === 'all-or-nothing') return await this.#askTogether(job, entries);
    return (await Promise.all(entries.map((entry) => this.#askTogether(job, [entry])))).flat();
  }

  /** All of them are granted, or none: what a part of a gang was granted would be kept from others for nothing. */
  #askTogether(job: OwnedJob, entries: readonly Entry[]): Promise<readonly TicketOutcome[]> {
    const unit = entries.map((entry) => this.#termsOf(job, entry)).filter((terms) => terms !== null);
    if (unit.length === entries.length) return this.#desk.ask(unit);
    return Promise.resolve(
      entries.map(({ allocation: { id } }) => ({ id, unanswered: 'the host has left' })),
    );
  }

  /** null: the host has left, or what is to start is not known. */
  #termsOf(job: OwnedJob, { allocation }: Entry): StartTerms | null {
    const host = this.#term.cell.state.hostOf(allocation.host);
    const launch = this.#book.of(job, allocation);
    return host === undefined || launch === null ? null : startTermsOf(allocation, host, launch.digest);
  }

  #ticketRefused(job: OwnedJob, entry: Entry, answer: TicketOutcome): void {
    if (job.dropped || 'ticket' in answer) return;
    this.#term.stats.ticketsRefused += 1;
    const isRefusal = 'refusal' in answer;
    const why = isRefusal ? `${answer.refusal.code}: ${answer.refusal.detail}` : answer.unanswered;
    const delayMs = isRefusal ? (answer.refusal.retryAfterMs ?? TICKET_RETRY_MS) : null;
    block(this.#term, job, entry.allocation.group, `waiting for a ticket: ${why}`, delayMs);
    this.#term.say('refused-ticket', job, why, entry);
  }

  async #commit(
    job: OwnedJob,
    planId: string,
    entries: readonly Entry[],
    atomicity: Atomicity,
    { evictions, releases }: { evictions: readonly Eviction[]; releases: readonly Release[] },
  ): Promise<boolean> {
    const { options, stats, world } = this.#term;
    for (const entry of entries) entry.stage = 'commit';
    this.#committing += entries.length;
    const startedMs = world.clock.monotonicMs();
    const isWhole = atomicity === 'all-or-nothing';
    const isLarge = isWhole && !isOneTransaction(options, world.store.limits, entries, evictions);
    let outcome: PlanOutcome | null;
    try {
      const places = entries.map((entry) => entry.allocation);
      outcome = isLarge
        ? await this.#commitByIntent(job, planId, entries, evictions)
        : await this.#term.commit({ id: planId, atomicity, places, evictions, releases });
    } catch (error) {
      // Whatever was done of it stands in the store under the ids chosen above: the job is read again.
      world.log.warn({ job: job.key, error }, 'a commit failed');
      this.#term.reload(job, RELOAD_DELAY_MS);
      for (const entry of entries) this.#takeBack(job, entry);
      return false;
    } finally {
      this.#committing -= entries.length;
    }
    if (outcome === null) return true;
    stats.addCommit(world.clock.monotonicMs() - startedMs);
    if (!isLarge) this.#evicted(evictions, outcome);
    this.#land(job, entries, outcome);
    return true;
  }

  /** Before the newcomers are started: an allocation of our own must be known as a victim when its host says so. */
  #evicted(evictions: readonly Eviction[], outcome: PlanOutcome): void {
    for (const eviction of evictions) {
      const part = outcome.get(eviction.victim.id);
      if (part !== undefined && part.kind !== 'conflicted') this.#term.evicted(eviction, part.revision);
    }
  }

  /**
   * A gang larger than one transaction: reserved host by host under an intent, then made effective all at once. Who gives
   * way to it does so on that condition.
   * @returns null: nothing of it stands, or will for long
   * @throws StoreError
   */
  async #commitByIntent(
    job: OwnedJob,
    planId: string,
    entries: readonly Entry[],
    evictions: readonly Eviction[],
  ): Promise<PlanOutcome | null> {
    const intent = await this.#intents.open(job, planId, entries, evictions);
    if (intent === null) {
      for (const entry of entries) this.#takeBack(job, entry);
      this.#term.lose(job);
      return null;
    }
    let outcome: PlanOutcome;
    try {
      const places = entries.map((entry) => entry.allocation);
      const conditional = pendingEvictions(places, evictions, intent);
      const plan = { id: planId, places, evictions: conditional, releases: [] };
      outcome = await this.#term.commit({ ...plan, atomicity: 'incremental' });
      const isReserved = places.every(({ id }) => outcome.get(id)?.kind !== 'conflicted');
      if (isReserved && (await this.#intents.makeEffective(job, intent, entries))) {
        this.#evicted(conditional, outcome);
        return outcome;
      }
    } finally {
      this.#intents.giveUp(intent);
    }
    this.#abandon(job, entries, outcome);
    return null;
  }

  /** Some member lost its place, or it took too long: what is reserved of the others is released as the job is read. */
  #abandon(job: OwnedJob, entries: readonly Entry[], outcome: PlanOutcome): void {
    const [first] = entries;
    for (const entry of entries) {
      const part = outcome.get(entry.allocation.id);
      this.#term.cell.syncLedger(entry.allocation.host);
      this.#takeBack(job, entry);
      if (part?.kind !== 'conflicted') continue;
      this.#term.stats.conflicted += 1;
      this.#conflicted(job, entry, part.why);
    }
    if (job.dropped || first === undefined) return;
    const why = 'the gang lost the place of a member to another scheduler';
    block(this.#term, job, first.allocation.group, why, null);
    this.#term.reload(job);
  }

  #land(job: OwnedJob, entries: readonly Entry[], outcome: PlanOutcome): void {
    const { cell, stats } = this.#term;
    const conflicted = new Set<string>();
    const landed = new Set<string>();
    for (const entry of entries) {
      const { allocation } = entry;
      const part = outcome.get(allocation.id);
      if (part === undefined) throw new Error(`the plan's outcome leaves out ${allocation.id}`);
      cell.syncLedger(allocation.host);
      if (part.kind === 'conflicted') {
        stats.conflicted += 1;
        this.#takeBack(job, entry);
        this.#conflicted(job, entry, part.why);
        conflicted.add(allocation.group);
        continue;
      }
      cell.state.settle(allocation, entry.host ?? undefined);
      // Until now it may have counted twice, once by the watch: somebody may sleep for that reason alone.
      this.#term.room(allocation.host, allocation.shared);
      stats[part.kind] += 1;
      job.landings += 1;
      landed.add(allocation.group);
      entry.revision = part.revision;
      entry.stage = 'start';
      this.#term.say(part.kind === 'rebased' ? 'rebased' : 'placed', job, `on ${allocation.host}`, entry);
      if (isCurrent(this.#term, job, entry)) this.#starts.add(job, entry);
    }
    for (const group of landed) this.#succeeded(job, group);
    for (const group of conflicted) if (!landed.has(group)) this.#failedTry(job, group);
  }

  #conflicted(job: OwnedJob, entry: Entry, why: ConflictReason): void {
    if (job.dropped) return;
    job.group(entry.allocation.group).conflicts += 1;
    if (why.reason === 'not-owner') {
      this.#term.lose(job);
      return;
    }
    this.#term.say('conflict', job, `lost ${entry.allocation.host}: ${conflictText(why)}`, entry);
  }

  #succeeded(job: OwnedJob, group: string): void {
    job.group(group).conflictsInARow = 0;
  }

  #failedTry(job: OwnedJob, group: string): void {
    if (job.dropped) return;
    const state = job.group(group);
    state.conflictsInARow += 1;
    if (state.conflictsInARow < CONFLICTS_MAX) return;
    const times = String(state.conflictsInARow);
    state.conflictsInARow = 0;
    block(this.#term, job, group, `lost to other schedulers ${times} times in a row`, null);
    this.#term.say('parked', job, state.blockedWhy);
  }

  #takeBack(job: OwnedJob, entry: Entry): void {
    const { host, shared } = entry.allocation;
    this.#term.cell.state.forget(entry.allocation);
    this.#term.room(host, shared);
    this.#term.dropEntry(job, entry);
  }
}

/** Does one transaction hold the gang, and all who give way to it? */
function isOneTransaction(
  options: SchedulerOptions,
  limits: StoreLimits,
  entries: readonly Entry[],
  evictions: readonly Eviction[],
): boolean {
  const shared = entries[0]?.allocation.shared;
  const shares = shared === undefined ? 0 : Object.keys(shared).length;
  const written = (2 + shares) * entries.length + evictions.length;
  return entries.length <= gangMaxOf(options, limits, shared) && written < limits.operationsMax;
}

/**
 * Members that one transaction holds for certain: each may take a ledger, an allocation and a pool of each thing that it
 * shares with others; one compare is the owner's.
 */
function gangMaxOf(
  options: SchedulerOptions,
  { operationsMax }: StoreLimits,
  shared: SharedUse | undefined,
): number {
  if (options.gangMax !== null && options.gangMax !== undefined) return options.gangMax;
  const shares = shared === undefined ? 0 : Object.keys(shared).length;
  const written = Math.floor((operationsMax - 1) / (2 + shares));
  return Math.min(written, Math.floor((operationsMax - 1 - shares) / (1 + shares)));
}

/**
 * Nothing is left to do for the job until something happens: all that was decided is durable, and no more was wanted.
 * Whatever changed during the commit has had its own look, which asks for another in `again` if it could not act.
 */
function isAtRest(job: OwnedJob, entries: readonly Entry[]): boolean {
  if (job.again || entries.some((entry) => entry.revision === 0)) return false;
  for (const group of job.groups.values()) if (group.pending > 0) return false;
  return true;
}

export function conflictText(why: ConflictReason): string {
  switch (why.reason) {
    case 'no-fit':
      return shortText(why.short);
    case 'version':
      return 'its ledger had moved on';
    case 'not-owner':
      return 'the job belongs to another scheduler';
    case 'changed':
      return 'the allocation had changed';
    case 'intent-gone':
      return 'the gang took too long to be committed';
    case 'plan-refused':
      return 'another part of the plan did not fit';
    case 'too-large':
      return 'the plan is larger than one transaction';
    case 'contended':
      return 'its ledger moved faster than we could follow';
  }
}
