/**
 * From a decided plan to a durable one. Each placement is assumed in memory first, then come the tickets (S4.27), unless these
 * may wait for the start, then the commit, and only what is committed and has its ticket is started. What is refused on the way
 * is undone.
 *
 * 1. `tickets.ts` says when tickets are asked for: all those of a plan here, before its commit; or, of what would wait for its start
 *    anyway, before that start (`hosts/starter.ts`), as where the ticket is missing after a take-over, or has less than 2 s left.
 *    `start-terms.ts` has what is asked, and what a start order contains; `ticket-client.ts` sends it to an arbiter.
 * 2. A gang is checked once more (`gangs/gangs.ts`): it may have changed while the tickets were asked for.
 * 3. `CommitPipeline` (this file) hands the plan to `src/runtime/commit/commit.ts`, which drafts one transaction or several from
 *    the newest ledgers that are known by then, newer ones than the decision saw among them, and checks the fit against these.
 *    A transaction compares: each touched host's ledger and each pool, the definitions of shared resources, the owner key of
 *    each job, open intents, the eligibility of lost hosts in whose stead it places, the records that it changes, and that a
 *    namespace has no quota unless an arbiter has said that it has one. It writes: the ledgers and pools, the new
 *    allocations, victims marked to be evicted, claims returned, and outcomes. A gang that is larger than one transaction goes
 *    by an intent (`gangs/intents.ts`).
 * 4. Each allocation comes back as committed, rebased (a compared ledger had changed, and the claim still fitted) or
 *    conflicted. A conflicted one is forgotten in memory, and its slot is decided again (`refusals.ts`); after eight lost commits in
 *    a row the group backs off. A commit without an answer is settled by reading the allocation ids back.
 * 5. Committed allocations go to `hosts/start-queue.ts`.
 *
 * A single new job takes the same way without the first two steps, and its commit also claims it (`ownership/first-placement.ts`).
 *
 * `claim-window.ts` says how many placements may be on the way to their commit at once: fewer while many are in conflict.
 *
 * `releaser.ts` writes the other commits: claims that end, with the outcomes of their allocations; of these it deletes those
 * that are too many, and orders hosts to forget what ended.
 *
 * See `docs/decisions/commit-and-rebase.md`.
 */
import { errorText } from '../../src/core/errors/errors.ts';
import type { TicketOutcome } from '../../src/clients/arbiter-client.ts';
import { pendingEvictions } from '../../src/core/commit/pending-preemption.ts';
import type {
  Atomicity,
  Eviction,
  PartOutcome,
  Plan,
  PlanOutcome,
  Release,
} from '../../src/core/commit/plan.ts';
import type { Owner } from '../../src/core/cell/cell.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import type { StoreLimits } from '../../src/ports/cell-store.ts';
import { completesGang, isAllOrNothing } from '../gangs/gangs.ts';
import type { Intents } from '../gangs/intents.ts';
import type { SchedulerOptions } from '../policies/options.ts';
import type { DecidedPlan } from '../state/decided-plan.ts';
import { backOffGroup } from '../state/group-backoff.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import { idsOf, isCurrent, RELOAD_DELAY_MS, undoAssumed } from '../state/state.ts';
import { ClaimWindow } from './claim-window.ts';
import { Refusals } from './refusals.ts';
import type { Tickets } from './tickets.ts';

/** Before a gang is decided again whose other members changed while its tickets were asked for. */
const GANG_AGAIN_MS = 200;

/** Of a plan whose commit claims its job. */
export interface Claiming {
  readonly by: Owner;
  /** The owner key was created at this revision; called before the first start. */
  readonly landed: (ownerRevision: number) => void;
}

export interface CommitPipelineParts {
  readonly tickets: Tickets;
  readonly intents: Intents;
  readonly start: (job: OwnedJob, entry: Entry) => void;
  /** What is committed now waits for its start, since the scheduler is busy. */
  readonly startsWait: () => boolean;
  readonly onPlanEnded: () => void;
  readonly fillsOf: (job: OwnedJob) => readonly Fill[];
}

/** Takes decided plans through tickets and commit; see the head of this file. */
export class CommitPipeline {
  readonly #term: Term;
  readonly #parts: CommitPipelineParts;
  readonly #refusals: Refusals;
  readonly #window = new ClaimWindow();
  #underWay = 0;
  #committing = 0;

  constructor(term: Term, parts: CommitPipelineParts) {
    this.#term = term;
    this.#parts = parts;
    this.#refusals = new Refusals(term, parts.tickets);
  }

  /** Placements between decision and the end of their commit. */
  get underWay(): number {
    return this.#underWay;
  }

  /** There is room for one more. */
  get hasRoom(): boolean {
    return this.#underWay < this.#window.claims;
  }

  /** Those of them whose commit is under way. */
  get committing(): number {
    return this.#committing;
  }

  /**
   * Takes a plan of one job to its end; the entries' revisions say what was committed.
   * @returns false: an arbiter or the store did not answer, or the gang has changed: the same may be possible later
   */
  async run(job: OwnedJob, plan: DecidedPlan): Promise<boolean> {
    const { entries, atomicity, evictions = [], releases = [] } = plan;
    this.#underWay += entries.length;
    try {
      const answers = this.#asksFirst(job, plan) ? await this.#parts.tickets.forPlan(job, plan) : null;
      const ready = answers === null ? entries : this.#withTickets(job, entries, answers, atomicity);
      const answered = answers?.every((answer) => !('unanswered' in answer)) ?? true;
      if (ready.length === 0) return answered;
      if (!this.#completesGang(job, ready, releases)) {
        for (const entry of ready) undoAssumed(this.#term, job, entry);
        // It may be whole a moment later: no reason to end the members that run.
        return false;
      }
      const commit = this.#commit(job, plan, ready);
      const [first] = ready;
      const isOfGang =
        first !== undefined && isAllOrNothing(job, job.record.job.groups[first.allocation.group]);
      if (isOfGang) job.setCommit(first.allocation.group, commit);
      return await commit;
    } finally {
      this.#underWay -= entries.length;
      const isPlain = atomicity === 'incremental' && evictions.length === 0 && releases.length === 0;
      if (!job.dropped && !(isPlain && isAtRest(job, entries))) this.#term.enqueue(job);
      this.#parts.onPlanEnded();
    }
  }

  /**
   * Takes the plan of a job that nobody owns to its end, in the transaction that claims the job (`ownership/first-placement.ts`).
   * Its tickets are asked for with the starts.
   */
  async runClaiming(job: OwnedJob, plan: DecidedPlan, claiming: Claiming): Promise<void> {
    const { entries } = plan;
    this.#underWay += entries.length;
    try {
      await this.#commit(job, plan, entries, claiming);
    } finally {
      this.#underWay -= entries.length;
      this.#parts.onPlanEnded();
    }
  }

  /** Are tickets asked for before the commit? A gang, and what takes the place of others, is not committed unless it may start. */
  #asksFirst(job: OwnedJob, { atomicity, evictions = [], releases = [] }: DecidedPlan): boolean {
    if (!this.#term.options.enforcement) return false;
    const isPlain = atomicity === 'incremental' && evictions.length + releases.length === 0;
    return !(isPlain && this.#parts.startsWait() && this.#parts.tickets.mayWait(job));
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
        undoAssumed(this.#term, job, entry);
        if (answer !== undefined) this.#refusals.ofTicket(job, entry, answer);
      }
    }
    const isPartOfGang = atomicity === 'all-or-nothing' && ready.length < entries.length;
    // A job that is to stop by now would be placed only to be stopped.
    const isWanted = !job.dropped && job.record.desired === 'run' && !this.#term.signal.aborted;
    if (!isPartOfGang && isWanted) return ready;
    for (const entry of ready) undoAssumed(this.#term, job, entry);
    return [];
  }

  #completesGang(job: OwnedJob, entries: readonly Entry[], releases: readonly Release[]): boolean {
    const group = job.record.job.groups[entries[0]?.allocation.group ?? ''];
    if (!isAllOrNothing(job, group)) return true;
    // The store may hold marks of which nothing is known here.
    if (job.stale) return false;
    const leaving = new Set(releases.map(({ allocation }) => allocation.id));
    const isLost = (host: string): boolean => this.#term.cell.condition(host).state === 'lost';
    const open = (): number => this.#parts.fillsOf(job).filter((fill) => fill.group === group.name).length;
    if (completesGang(job, group, entries, { leaving, isLost, open })) return true;
    backOffGroup(this.#term, job, group.name, 'other members of its gang have left meanwhile', GANG_AGAIN_MS);
    return false;
  }

  /** @returns false: the store did not answer */
  async #commit(
    job: OwnedJob,
    plan: DecidedPlan,
    entries: readonly Entry[],
    claiming?: Claiming,
  ): Promise<boolean> {
    const { options, stats, world } = this.#term;
    const { id, atomicity, evictions = [], releases = [], traceparent = job.record.traceparent } = plan;
    for (const entry of entries) entry.stage = 'commit';
    this.#committing += entries.length;
    const startedMs = world.clock.monotonicMs();
    const span = world.tracer?.begin('commit', traceparent) ?? null;
    const traced = span === null ? null : { traceparent: span.traceparent };
    const byIntent =
      claiming === undefined &&
      atomicity === 'all-or-nothing' &&
      !fitsOneTransaction(options, world.store.limits, entries, evictions);
    let outcome: PlanOutcome | null;
    try {
      const places = entries.map((entry) => entry.allocation);
      outcome = byIntent
        ? await this.#commitByIntent(job, id, entries, evictions)
        : await this.#term.commit({
            ...{ id, atomicity, places, evictions, releases },
            ...this.#conditionsOf(job, entries),
            ...(claiming && { jobClaim: { namespace: job.namespace, job: job.name, by: claiming.by } }),
            ...traced,
          });
    } catch (error) {
      // Whatever was applied stands in the store under the ids chosen before: the job is read again.
      world.log.warn({ ...idsOf(job), plan: id, error }, 'a commit failed');
      span?.end({ job: job.key, plan: id }, errorText(error));
      this.#term.reload(job, RELOAD_DELAY_MS);
      for (const entry of entries) undoAssumed(this.#term, job, entry);
      return false;
    } finally {
      this.#committing -= entries.length;
    }
    span?.end({ job: job.key, plan: id, ...countsOf(entries, outcome) });
    if (outcome === null) return true;
    stats.addCommit(world.clock.monotonicMs() - startedMs);
    if (!byIntent) this.#markVictims(evictions, outcome);
    const [first] = entries;
    const landed = first === undefined ? undefined : outcome.get(first.allocation.id);
    if (landed !== undefined && landed.kind !== 'conflicted') claiming?.landed(landed.revision);
    this.#committed(job, entries, outcome);
    return true;
  }

  /** What the commit of the entries compares beside its ledgers, its owner and the records that it changes. */
  #conditionsOf(job: OwnedJob, entries: readonly Entry[]): Pick<Plan, 'lostHosts' | 'withoutQuota'> {
    const lostHosts = lostHostsOf(entries);
    // Arbiters that grant without a limit may not have heard of a quota, and where tickets come later none was asked.
    const withoutQuota = this.#term.options.enforcement && !this.#parts.tickets.isLimited(job);
    return { ...(lostHosts && { lostHosts }), ...(withoutQuota && { withoutQuota }) };
  }

  /** Before the preempting allocations are started: a host's report of a victim must find it marked. */
  #markVictims(evictions: readonly Eviction[], outcome: PlanOutcome): void {
    for (const eviction of evictions) {
      const part = outcome.get(eviction.victim.id);
      if (part?.kind === 'conflicted') {
        if (part.why.reason === 'changed') this.#term.victimChanged(eviction);
      } else if (part !== undefined) this.#term.victimMarked(eviction, part.revision);
    }
  }

  /**
   * A gang larger than one transaction: reserved host by host under an intent, then made effective all at once. Its
   * victims are marked on that condition.
   * @returns null: nothing of it stands, or will for long
   * @throws StoreError
   */
  async #commitByIntent(
    job: OwnedJob,
    planId: string,
    entries: readonly Entry[],
    evictions: readonly Eviction[],
  ): Promise<PlanOutcome | null> {
    const { intents } = this.#parts;
    const intent = await intents.open(job, planId, entries, evictions);
    if (intent === null) {
      for (const entry of entries) undoAssumed(this.#term, job, entry);
      this.#term.ownershipLost(job);
      return null;
    }
    let outcome: PlanOutcome;
    try {
      const places = entries.map((entry) => entry.allocation);
      const conditional = pendingEvictions(places, evictions, intent);
      const conditions = this.#conditionsOf(job, entries);
      const plan = { id: planId, places, evictions: conditional, releases: [], ...conditions };
      outcome = await this.#term.commit({ ...plan, atomicity: 'incremental' });
      const isReserved = places.every(({ id }) => outcome.get(id)?.kind !== 'conflicted');
      if (isReserved && (await intents.makeEffective(job, intent, entries))) {
        this.#markVictims(conditional, outcome);
        return outcome;
      }
    } finally {
      intents.abandon(intent);
    }
    this.#abandonGang(job, entries, outcome);
    return null;
  }

  /** A member's claim was refused, or it took too long: the others' reservations are released when the job is read. */
  #abandonGang(job: OwnedJob, entries: readonly Entry[], outcome: PlanOutcome): void {
    const [first] = entries;
    for (const entry of entries) {
      const part = outcome.get(entry.allocation.id);
      this.#term.cell.syncLedger(entry.allocation.host);
      undoAssumed(this.#term, job, entry);
      if (part?.kind === 'conflicted') this.#refusals.ofCommit(job, entry, part);
    }
    if (job.dropped || first === undefined) return;
    const why = 'the gang lost the place of a member to another scheduler';
    backOffGroup(this.#term, job, first.allocation.group, why, null);
    this.#term.reload(job);
  }

  #committed(job: OwnedJob, entries: readonly Entry[], outcome: PlanOutcome): void {
    const { cell, stats } = this.#term;
    const conflicted = new Set<string>();
    const committed = new Set<string>();
    let lost = 0;
    for (const entry of entries) {
      const { allocation } = entry;
      const part = outcome.get(allocation.id);
      if (part === undefined) throw new Error(`the plan's outcome leaves out ${allocation.id}`);
      cell.syncLedger(allocation.host);
      if (part.kind === 'conflicted') {
        undoAssumed(this.#term, job, entry);
        this.#refusals.ofCommit(job, entry, part);
        conflicted.add(allocation.group);
        lost += 1;
        continue;
      }
      cell.state.forget(allocation, entry.host ?? undefined);
      // Until now the claim may have counted twice, once by the watch: a job may be parked for that reason alone.
      this.#term.capacityFreed(allocation.host, allocation.shared);
      stats[part.kind] += 1;
      job.ownWrites += 1;
      committed.add(allocation.group);
      entry.revision = part.revision;
      entry.stage = 'start';
      const kind = part.kind === 'rebased' ? 'rebased' : 'placed';
      this.#term.emit(kind, job, `on ${allocation.host}`, entry, part.race);
      if (isCurrent(this.#term, job, entry)) this.#parts.start(job, entry);
    }
    this.#window.answered(entries.length, lost);
    for (const group of committed) job.group(group).conflictsInARow = 0;
    for (const group of conflicted) if (!committed.has(group)) this.#refusals.ofAll(job, group);
  }
}

/** Of each entry the hosts in whose stead it places; undefined: none has any. */
function lostHostsOf(entries: readonly Entry[]): Plan['lostHosts'] {
  if (entries.every(({ standsFor }) => standsFor.length === 0)) return undefined;
  return new Map(entries.map(({ allocation, standsFor }) => [allocation.id, standsFor]));
}

/** How the plan's allocations ended, for its span. @param outcome null: nothing of it stands */
function countsOf(
  entries: readonly Entry[],
  outcome: PlanOutcome | null,
): Record<PartOutcome['kind'], number> {
  const counts = { committed: 0, rebased: 0, conflicted: 0 };
  for (const { allocation } of entries) counts[outcome?.get(allocation.id)?.kind ?? 'conflicted'] += 1;
  return counts;
}

/**
 * Does one transaction hold the gang and its victims for certain? Each member may take a ledger, an allocation and a pool of
 * each shared resource; one compare is the owner's, one the namespace's quota's, and one that of each lost host in whose stead it
 * places.
 */
function fitsOneTransaction(
  { gangMax }: SchedulerOptions,
  { operationsMax }: StoreLimits,
  entries: readonly Entry[],
  evictions: readonly Eviction[],
): boolean {
  const shares = Object.keys(entries[0]?.allocation.shared ?? {}).length;
  const lost = new Set(entries.flatMap(({ standsFor }) => standsFor.map(({ host }) => host))).size;
  const written = (2 + shares) * entries.length + evictions.length;
  const compared = 2 + shares + lost + (1 + shares) * entries.length + evictions.length;
  return entries.length <= (gangMax ?? Infinity) && written < operationsMax && compared <= operationsMax;
}

/**
 * Is nothing left to do for the job until something happens? All that was decided is durable, and no more was wanted. A
 * change during the commit was decided on by itself, and asks in `revisit` for another decision if it could not be acted on.
 */
function isAtRest(job: OwnedJob, entries: readonly Entry[]): boolean {
  if (job.revisit || entries.some((entry) => entry.revision === 0)) return false;
  for (const group of job.groups.values()) if (group.pending > 0) return false;
  return true;
}
