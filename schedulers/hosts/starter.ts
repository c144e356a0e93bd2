import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Host } from '../../src/core/host/host.ts';
import { CAUSES } from '../../src/core/slots/job-view.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { StartOutcome, StopOutcome } from '../../src/clients/host-client.ts';
import { HttpError } from '../../src/ports/http.ts';
import { FINAL_REFUSALS } from '../../src/wire/api/host-api.ts';
import { Backoff } from '../../src/runtime/wait/backoff.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { block } from '../state/group-backoff.ts';
import type { Term } from '../state/state.ts';
import { isCurrent } from '../state/state.ts';
import type { LaunchBook } from '../commit/start-terms.ts';
import { orderedBy, startTermsOf } from '../commit/start-terms.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import type { TicketDesk } from '../commit/ticket-client.ts';

const RETRY = { firstMs: 200, maxMs: 5_000 };
/** A ticket that ends sooner than this would run out on its way to the host. */
const TICKET_MARGIN_MS = 2_000;
/** Orders that surely never reached the host, before the place is given up for another host. */
const UNSENT_MAX = 4;
/** Tickets that a host may call expired before its clock is taken for wrong and another host is chosen. */
const EXPIRED_MAX = 3;
/** How long a job keeps away from a host that refused it. */
export const AVOID_MS = 60_000;

type Step = 'done' | 'again';

export interface StarterParts {
  readonly book: LaunchBook;
  readonly desk: TicketDesk;
  /** The claim of what will not start on its host. */
  readonly giveBack: (job: OwnedJob, entry: Entry, why: string) => void;
}

/**
 * Orders hosts to start what is committed. A refusal gives the claim back and keeps the job away from that host for a
 * while (S4.29). An answer that never came is resolved by asking the host for the allocation; only the same host is
 * ever asked again, with the same order, which it does once.
 */
export class Starter {
  readonly #term: Term;
  readonly #book: LaunchBook;
  readonly #desk: TicketDesk;
  readonly #giveBack: StarterParts['giveBack'];
  /** Victims whose host is being told. */
  readonly #clearing = new Set<string>();

  constructor(term: Term, parts: StarterParts) {
    this.#term = term;
    this.#book = parts.book;
    this.#desk = parts.desk;
    this.#giveBack = parts.giveBack;
  }

  /** A fresh allocation: nobody has ordered it before. */
  start(job: OwnedJob, entry: Entry): Promise<void> {
    this.clearWay(entry.allocation, job);
    return this.#drive(job, entry, { mayBeSent: false });
  }

  /** One whose start may have been ordered before, by us or by a scheduler that died (S4.30): asks first. */
  verify(job: OwnedJob, entry: Entry): Promise<void> {
    return this.#drive(job, entry, { mayBeSent: true });
  }

  /**
   * Tells the host of those that give way to the allocation. Their records say so already, so it is said until it is heard,
   * whatever becomes of the newcomer, and as long as this term lasts; after that the victims' own scheduler says it.
   */
  clearWay(allocation: Allocation, job: OwnedJob): void {
    for (const victim of allocation.evicts ?? []) {
      // Of a gang several may wait for the same one.
      if (this.#clearing.has(victim)) continue;
      this.#clearing.add(victim);
      void this.#stopVictim(allocation, victim, job.key).finally(() => this.#clearing.delete(victim));
    }
  }

  async #stopVictim(newcomer: Allocation, victim: string, by: string): Promise<void> {
    const { world, cell, hosts, hostCalls, incarnation, signal } = this.#term;
    const backoff = new Backoff(RETRY, world.random);
    while (!signal.aborted) {
      const evict = (address: string): Promise<StopOutcome> => {
        const counter = Math.max(cell.book.get(newcomer.host).ledger.counter, newcomer.epoch.counter);
        return hosts.stop(address, victim, {
          commandId: `${victim}-evict`,
          epoch: { incarnation, counter },
          mode: 'evict',
          cause: `${CAUSES.evicted} ${by}`,
        });
      };
      const outcome = await hostCalls.order(newcomer.host, () => true, evict);
      if (outcome?.kind === 'stopping' || outcome?.kind === 'absent') return;
      if (outcome?.kind === 'refused') world.log.warn({ victim, ...outcome }, 'a host refused to evict');
      await sleep(world.clock, backoff.nextMs(), signal);
    }
  }

  async #drive(job: OwnedJob, entry: Entry, from: { readonly mayBeSent: boolean }): Promise<void> {
    const run: Run = {
      hurried: from.mayBeSent,
      ask: from.mayBeSent,
      mayBeSent: from.mayBeSent,
      refusedOrder: false,
      unsent: 0,
      expired: 0,
      refusedTickets: 0,
    };
    const backoff = new Backoff(RETRY, this.#term.world.random);
    while (this.#isWanted(job, entry)) {
      const host = this.#term.cell.state.hostOf(entry.allocation.host);
      if (host !== undefined) {
        const step = run.ask
          ? await this.#ask(job, entry, host, run)
          : await this.#order(job, entry, host, run);
        if (step === 'done') return;
      }
      // The first answer that was lost is asked for at once. After that the delay bounds what an unreachable host
      // costs: one call every few seconds for each of its allocations.
      if (run.ask && !run.hurried && host !== undefined) run.hurried = true;
      else await sleep(this.#term.world.clock, backoff.nextMs(), this.#term.signal);
    }
  }

  /** Once a stop is in the store, stopping is all there is to do, and that is the stopper's. */
  #isWanted(job: OwnedJob, entry: Entry): boolean {
    return (
      isCurrent(this.#term, job, entry) &&
      entry.stage !== 'started' &&
      !entry.releasing &&
      entry.allocation.desired === 'run'
    );
  }

  async #ask(job: OwnedJob, entry: Entry, host: Host, run: Run): Promise<Step> {
    const report = await this.#read(job, entry, host);
    if (!this.#isWanted(job, entry)) return 'done';
    if (report === 'unknown') return 'again';
    if (report !== null) {
      this.#started(job, entry, report);
      return 'done';
    }
    run.ask = false;
    return this.#order(job, entry, host, run);
  }

  /** @returns null: the host has no record of it */
  async #read(job: OwnedJob, entry: Entry, host: Host): Promise<AllocationReport | null | 'unknown'> {
    const { hosts, hostCalls } = this.#term;
    const isWanted = (): boolean => this.#isWanted(job, entry);
    try {
      const report = await hostCalls.askFirst(host.id, isWanted, (address) =>
        hosts.get(address, entry.allocation.id),
      );
      return report === undefined ? 'unknown' : report;
    } catch (error) {
      if (!(error instanceof HttpError) && !(error instanceof ProblemError)) throw error;
      return 'unknown';
    }
  }

  async #order(job: OwnedJob, entry: Entry, host: Host, run: Run): Promise<Step> {
    const { allocation } = entry;
    const launch = this.#book.of(job, allocation);
    if (launch === null) return this.#giveUp(job, entry, host, run, 'the spec of its version is gone');
    const hasTicket = await this.#ensureTicket(entry, host, launch.digest, run);
    if (!this.#isWanted(job, entry)) return 'done';
    if (!hasTicket) {
      if (run.refusedTickets < TICKET_TRIES_MAX) return 'again';
      return this.#giveUp(job, entry, host, run, 'no ticket for the start of what is committed');
    }
    entry.stage = 'start';
    const isWanted = (): boolean => this.#isWanted(job, entry);
    const outcome = await this.#term.hostCalls.order(host.id, isWanted, (address) =>
      this.#term.hosts.start(address, {
        commandId: `${allocation.id}-start-${String(run.expired)}`,
        allocation: orderedBy(this.#term.options.id, allocation),
        launch: launch.launch,
        ticket: entry.ticket?.text ?? null,
      }),
    );
    if (!this.#isWanted(job, entry)) return 'done';
    return outcome === undefined ? 'again' : this.#landed(job, entry, host, run, outcome);
  }

  async #landed(job: OwnedJob, entry: Entry, host: Host, run: Run, outcome: StartOutcome): Promise<Step> {
    if (outcome.kind === 'started') {
      this.#started(job, entry, outcome.report);
      return 'done';
    }
    if (outcome.kind === 'unknown') {
      if (outcome.sent) {
        run.mayBeSent = true;
        run.ask = true;
        return 'again';
      }
      run.unsent += 1;
      const isHopeless = run.unsent >= UNSENT_MAX && !run.mayBeSent;
      return isHopeless ? this.#refused(job, entry, host, `cannot be reached: ${outcome.detail}`) : 'again';
    }
    if (outcome.code === 'ticket-expired' && run.expired < EXPIRED_MAX) {
      run.expired += 1;
      entry.ticket = null;
      return 'again';
    }
    const why = `${outcome.code}: ${outcome.detail}`;
    if (FINAL_REFUSALS.has(outcome.code)) return this.#refused(job, entry, host, why);
    run.refusedOrder = true;
    return this.#callOff(job, entry, host, run, why);
  }

  async #ensureTicket(entry: Entry, host: Host, digest: string, run: Run): Promise<boolean> {
    const { options, world } = this.#term;
    if (!options.enforcement) return true;
    const isGood = entry.ticket !== null && entry.ticket.expiresMs - world.clock.nowMs() > TICKET_MARGIN_MS;
    if (isGood) return true;
    const terms = startTermsOf(orderedBy(options.id, entry.allocation), host, digest);
    const [answer] = await this.#desk.ask([terms]);
    if (answer === undefined) return false;
    if ('ticket' in answer) {
      entry.ticket = { text: answer.ticket, expiresMs: answer.expiresMs };
      return true;
    }
    if ('refusal' in answer) {
      run.refusedTickets += 1;
      this.#term.stats.ticketsRefused += 1;
    }
    return false;
  }

  #started(job: OwnedJob, entry: Entry, report: AllocationReport): void {
    const isNews = entry.stage !== 'started';
    entry.stage = 'started';
    if (report.state === 'rejected') {
      this.#reject(job, entry, report.reason);
      return;
    }
    if (isWhole(job, entry)) job.group(entry.allocation.group).blocks = 0;
    if (isNews) this.#term.say('started', job, `on ${entry.allocation.host}: ${report.state}`, entry);
    this.#term.report(report);
  }

  /** The host said no, or surely heard nothing: nothing runs there, the claim may go. */
  #refused(job: OwnedJob, entry: Entry, host: Host, why: string): Step {
    this.#term.stats.startsRefused += 1;
    this.#reject(job, entry, why);
    this.#term.world.log.info({ job: job.key, host: host.id, why }, 'a host refused a start');
    return 'done';
  }

  #reject(job: OwnedJob, entry: Entry, why: string): void {
    // It was chosen though it is to be avoided: no other host fits, and asking at once again would only be refused.
    if (job.avoids(entry.allocation.host)) block(this.#term, job, entry.allocation.group, why, null);
    this.#term.moveOn();
    job.avoidHost(entry.allocation.host, this.#term.world.clock.monotonicMs() + AVOID_MS);
    this.#term.say('refused-host', job, why, entry);
    this.#giveBack(job, entry, why);
  }

  /** The allocation shall not start any more. */
  async #giveUp(job: OwnedJob, entry: Entry, host: Host, run: Run, why: string): Promise<Step> {
    const isHeard = run.mayBeSent || run.refusedOrder;
    return isHeard ? this.#callOff(job, entry, host, run, why) : this.#refused(job, entry, host, why);
  }

  /**
   * An order of it may be on its way: the host is told to stop it, which makes it refuse an order that comes late. Its record says
   * `run`: only its owner may send this, and only as long as nothing else is known of it.
   */
  async #callOff(job: OwnedJob, entry: Entry, host: Host, run: Run, why: string): Promise<Step> {
    const { allocation } = entry;
    const { cell, incarnation, world } = this.#term;
    const isWanted = (): boolean => this.#isWanted(job, entry);
    const outcome = await this.#term.hostCalls.order(host.id, isWanted, (address) => {
      // The present one: a host that heard of a later verdict refuses the epoch of the placing for ever.
      const counter = Math.max(cell.book.get(host.id).ledger.counter, allocation.epoch.counter);
      return this.#term.hosts.stop(address, allocation.id, {
        commandId: `${allocation.id}-give-up`,
        epoch: { incarnation, counter },
        mode: 'remove',
        cause: why,
      });
    });
    if (!this.#isWanted(job, entry)) return 'done';
    if (outcome === undefined) return 'again';
    if (outcome.kind === 'absent') return this.#refused(job, entry, host, why);
    if (outcome.kind === 'refused') {
      world.log.warn({ allocation: allocation.id, ...outcome }, 'a host refused to give up a start');
      // Neither of us can do anything with the other: what it did not take from us it does not take from a copy.
      if (run.refusedOrder && outcome.code !== 'epoch-old') return this.#refused(job, entry, host, why);
    }
    if (outcome.kind !== 'stopping') return 'again';
    this.#started(job, entry, outcome.report);
    return 'done';
  }
}

/** The member of a gang that one host takes says nothing of the one that another host refuses again and again. */
function isWhole(job: OwnedJob, { allocation: { group } }: Entry): boolean {
  if (job.record.job.groups[group]?.gang !== true) return true;
  for (const { allocation, stage } of job.entries.values())
    if (allocation.group === group && stage !== 'started') return false;
  return true;
}

/** Refusals of a ticket for what is committed already, before its claim is given back. */
const TICKET_TRIES_MAX = 5;

interface Run {
  /** Ask the host before anything else. */
  ask: boolean;
  /** It was asked once without a delay. */
  hurried: boolean;
  /** Some order for this allocation may have reached the host. */
  mayBeSent: boolean;
  /** An order was refused for what it was, which says nothing of other copies and other tickets. */
  refusedOrder: boolean;
  unsent: number;
  expired: number;
  refusedTickets: number;
}
