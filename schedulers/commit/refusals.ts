import type { TicketOutcome } from '../../src/clients/arbiter-client.ts';
import type { ConflictReason, PartOutcome } from '../../src/core/commit/plan.ts';
import { shortText } from '../../src/core/placement/filters.ts';
import { backOffGroup } from '../state/group-backoff.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import type { Tickets } from './tickets.ts';

/** Lost commits in a row before a group backs off (I11): after eight, other schedulers are faster at these hosts. */
const CONFLICTS_MAX = 8;
/** When an arbiter does not say when to ask again: its limit or the use must change first, which takes a while. */
const TICKET_RETRY_MS = 5_000;
/** Before a group is decided again whose lost host came back, or whose namespace got a quota: this is heard of by then, or soon. */
const HEARD_MS = 250;

/** What follows when an arbiter or the store refuses a part of a plan: who hears of it, and when its group is decided again. */
export class Refusals {
  readonly #term: Term;
  readonly #tickets: Pick<Tickets, 'hasQuota'>;

  constructor(term: Term, tickets: Pick<Tickets, 'hasQuota'>) {
    this.#term = term;
    this.#tickets = tickets;
  }

  /** An arbiter gave the placement no ticket: its group waits for as long as the arbiter says. */
  ofTicket(job: OwnedJob, entry: Entry, answer: TicketOutcome): void {
    if (job.dropped || 'ticket' in answer) return;
    this.#term.stats.ticketsRefused += 1;
    const isRefusal = 'refusal' in answer;
    const why = isRefusal ? `${answer.refusal.code}: ${answer.refusal.detail}` : answer.unanswered;
    const delayMs = isRefusal ? (answer.refusal.retryAfterMs ?? TICKET_RETRY_MS) : null;
    backOffGroup(this.#term, job, entry.allocation.group, `waiting for a ticket: ${why}`, delayMs);
    this.#term.emit('refused-ticket', job, why, entry);
  }

  /** The store refused the placement, which is forgotten in memory by now. */
  ofCommit(job: OwnedJob, entry: Entry, part: PartOutcome & { readonly kind: 'conflicted' }): void {
    const { why } = part;
    this.#term.stats.conflicted += 1;
    if (job.dropped) return;
    job.group(entry.allocation.group).conflicts += 1;
    if (why.reason === 'not-owner') {
      this.#term.ownershipLost(job);
      return;
    }
    if (why.reason === 'quota') this.#tickets.hasQuota(job);
    if (why.reason === 'host-back' || why.reason === 'quota')
      backOffGroup(this.#term, job, entry.allocation.group, conflictText(why), HEARD_MS);
    const detail = `lost ${entry.allocation.host}: ${conflictText(why)}`;
    this.#term.emit('conflict', job, detail, entry, part.race);
  }

  /** All of the group's claims in a plan were refused. */
  ofAll(job: OwnedJob, group: string): void {
    if (job.dropped) return;
    const state = job.group(group);
    state.conflictsInARow += 1;
    if (state.conflictsInARow < CONFLICTS_MAX) return;
    const times = String(state.conflictsInARow);
    state.conflictsInARow = 0;
    backOffGroup(this.#term, job, group, `lost to other schedulers ${times} times in a row`, null);
    this.#term.emit('parked', job, state.blockedWhy);
  }
}

function conflictText(why: ConflictReason): string {
  switch (why.reason) {
    case 'no-fit':
      return shortText(why.short);
    case 'version':
      return 'its ledger had changed';
    case 'not-owner':
      return 'the job belongs to another scheduler';
    case 'changed':
      return 'the allocation had changed';
    case 'host-back':
      return `${why.host} is back, and may still run what was to be replaced`;
    case 'quota':
      return 'the namespace has a quota now: a ticket comes first';
    case 'intent-gone':
      return 'the gang took too long to be committed';
    case 'plan-refused':
      return 'another part of the plan did not fit';
    case 'too-large':
      return 'the plan is larger than one transaction';
    case 'contended':
      return 'its ledger changed faster than the commit could be repeated';
  }
}
