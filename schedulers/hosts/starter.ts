import type { StartOutcome } from '../../src/clients/host-client.ts';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Host } from '../../src/core/host/host.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { CAUSES } from '../../src/core/slots/job-view.ts';
import { Backoff } from '../../src/runtime/wait/backoff.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { FINAL_REFUSALS } from '../../src/wire/api/host-api.ts';
import type { Launches } from '../commit/start-terms.ts';
import { orderedBy } from '../commit/start-terms.ts';
import type { Tickets } from '../commit/tickets.ts';
import { backOffGroup } from '../state/group-backoff.ts';
import type { CellSecrets } from '../state/cell-secrets.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import { idsOf, isCurrent } from '../state/state.ts';
import { ORDER_RETRY, orderStop, readFromHost } from './hosts.ts';

/** Orders that surely never reached the host, before another host is chosen: an agent may be starting anew. */
const UNSENT_MAX = 4;
/** No more than two where the second fails so long after the first: no connection comes about, as to a host that vanished. */
const UNSENT_FOR_MS = 2_000;
/** Tickets that a host may call expired before its clock is taken for wrong and another host is chosen. */
const EXPIRED_MAX = 3;
/** Refusals of a ticket for a committed allocation, before its claim is released. */
const TICKET_TRIES_MAX = 5;
export const AVOID_MS = 60_000;

type Step = 'done' | 'again';

interface Attempts {
  /** The host is asked about the allocation before it is ordered anything. */
  ask: boolean;
  /** It was asked once without a delay. */
  hurried: boolean;
  /** An order to start may have reached the host. */
  mayBeSent: boolean;
  /** An order was refused for what it was; other copies of it, with other tickets, may still be accepted. */
  refusedOrder: boolean;
  unsent: number;
  /** When the first of those failed (monotonic). */
  unsentSinceMs: number | null;
  expired: number;
  refusedTickets: number;
}

export interface StarterParts {
  readonly launches: Launches;
  readonly tickets: Tickets;
  readonly secrets: CellSecrets;
  /** The allocation will not start on its host: its claim may go. */
  readonly releaseClaim: (job: OwnedJob, entry: Entry, why: string) => void;
  /** Is the allocation of a job of this scheduler, which orders its host to stop it? */
  readonly stopsItself: (allocation: string) => boolean;
}

/**
 * Orders hosts to start what is committed. A refusal returns the claim and avoids the host for a while (S4.29). An order
 * without an answer is settled by asking the host for the allocation: only the same host is ever ordered again, with the
 * same order, which it executes once.
 */
export class Starter {
  readonly #term: Term;
  readonly #parts: StarterParts;
  readonly #stopping = new Set<string>();

  constructor(term: Term, parts: StarterParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /** Starts a fresh allocation, for which no order was sent before. */
  start(job: OwnedJob, entry: Entry): Promise<void> {
    this.stopVictims(entry.allocation, job);
    return this.#drive(job, entry, false);
  }

  /** Starts one for which this scheduler, or a dead one, may have sent an order before (S4.30): asks first. */
  verify(job: OwnedJob, entry: Entry): Promise<void> {
    return this.#drive(job, entry, true);
  }

  /**
   * Orders the victims of the allocation to stop. Their records say so already, so the order is repeated until the host
   * confirms it or this term ends, whatever becomes of the allocation; after that the victims' own scheduler repeats it. Where
   * that is this one, it does so from the beginning (`stopper.ts`).
   */
  stopVictims(allocation: Allocation, job: OwnedJob): void {
    for (const victim of allocation.evicts ?? []) {
      // Several members of a gang may wait for the same victim.
      if (this.#stopping.has(victim) || this.#parts.stopsItself(victim)) continue;
      this.#stopping.add(victim);
      void this.#stopVictim(allocation, victim, job.key).finally(() => this.#stopping.delete(victim));
    }
  }

  async #stopVictim({ host, epoch }: Allocation, victim: string, by: string): Promise<void> {
    const { world, signal } = this.#term;
    const cause = `${CAUSES.evicted} ${by}`;
    const order = { commandId: `${victim}-evict`, mode: 'evict', cause } as const;
    const backoff = new Backoff(ORDER_RETRY, world.random);
    while (!signal.aborted) {
      const target = { host, id: victim, counter: epoch.counter };
      const outcome = await orderStop(this.#term, target, order, () => true);
      if (outcome?.kind === 'stopping' || outcome?.kind === 'absent') return;
      if (outcome?.kind === 'refused')
        world.log.warn({ allocation: victim, by, ...outcome }, 'a host refused to stop a victim');
      await sleep(world.clock, backoff.nextMs(), signal);
    }
  }

  async #drive(job: OwnedJob, entry: Entry, mayBeSent: boolean): Promise<void> {
    const { cell, signal, world } = this.#term;
    const attempts: Attempts = {
      ...{ ask: mayBeSent, hurried: mayBeSent, mayBeSent, refusedOrder: false },
      ...{ unsent: 0, unsentSinceMs: null, expired: 0, refusedTickets: 0 },
    };
    const backoff = new Backoff(ORDER_RETRY, world.random);
    while (this.#isWanted(job, entry)) {
      const host = cell.state.hostOf(entry.allocation.host);
      if (host !== undefined) {
        const step = attempts.ask
          ? await this.#ask(job, entry, host, attempts)
          : await this.#order(job, entry, host, attempts);
        if (step === 'done') return;
      }
      // After the first order without an answer the host is asked at once. After that the delay bounds what an
      // unreachable host costs: one call every few seconds for each of its allocations.
      if (attempts.ask && !attempts.hurried && host !== undefined) attempts.hurried = true;
      else await sleep(world.clock, backoff.nextMs(), signal);
    }
  }

  /** When the record says stop, `hosts/stopper.ts` acts for the allocation. */
  #isWanted(job: OwnedJob, entry: Entry): boolean {
    return (
      isCurrent(this.#term, job, entry) &&
      entry.stage !== 'started' &&
      !entry.releasing &&
      entry.allocation.desired === 'run'
    );
  }

  async #ask(job: OwnedJob, entry: Entry, host: Host, attempts: Attempts): Promise<Step> {
    const isWanted = (): boolean => this.#isWanted(job, entry);
    const report = await readFromHost(this.#term, entry.allocation, isWanted);
    if (!isWanted()) return 'done';
    if (report === 'unknown') return 'again';
    if (report !== null) return this.#started(job, entry, report);
    attempts.ask = false;
    return this.#order(job, entry, host, attempts);
  }

  async #order(job: OwnedJob, entry: Entry, host: Host, attempts: Attempts): Promise<Step> {
    const { hosts, hostCalls, options, stats } = this.#term;
    const { allocation } = entry;
    const launch = this.#parts.launches.of(job, allocation);
    if (launch === null) return this.#giveUp(job, entry, host, attempts, 'the spec of its version is gone');
    const sealed = this.#parts.secrets.sealedFor(allocation.namespace, launch.launch.tasks);
    if (typeof sealed === 'string') return this.#giveUp(job, entry, host, attempts, sealed);
    const { tracer } = this.#term.world;
    const { traceparent } = job.record;
    const missing = await this.#parts.tickets.forStart(entry, host, launch.digest, traceparent);
    if (missing === 'unanswered') return this.#isWanted(job, entry) ? 'again' : 'done';
    if (missing !== null) {
      attempts.refusedTickets += 1;
      stats.ticketsRefused += 1;
      return this.#ticketRefused(job, entry, host, attempts, missing.refused);
    }
    if (!this.#isWanted(job, entry)) return 'done';
    entry.stage = 'start';
    const isWanted = (): boolean => this.#isWanted(job, entry);
    const span = tracer?.begin('start', traceparent) ?? null;
    const outcome = await hostCalls.order(host.id, isWanted, (address) =>
      hosts.start(
        address,
        {
          commandId: `${allocation.id}-start-${String(attempts.expired)}`,
          allocation: orderedBy(options.id, allocation),
          launch: launch.launch,
          ticket: entry.ticket?.text ?? null,
          ...(sealed === null ? {} : { sealed }),
        },
        span?.traceparent ?? traceparent,
      ),
    );
    span?.end({ job: job.key, allocation: allocation.id, host: host.id }, failureOf(outcome));
    if (!isWanted()) return 'done';
    return outcome === undefined ? 'again' : this.#answered(job, entry, host, attempts, outcome);
  }

  async #answered(
    job: OwnedJob,
    entry: Entry,
    host: Host,
    attempts: Attempts,
    outcome: StartOutcome,
  ): Promise<Step> {
    if (outcome.kind === 'started') return this.#started(job, entry, outcome.report);
    if (outcome.kind === 'unknown') {
      if (outcome.sent) {
        attempts.mayBeSent = true;
        attempts.ask = true;
        return 'again';
      }
      const isHopeless = this.#isUnsentForLong(attempts) && !attempts.mayBeSent;
      return isHopeless ? this.#refused(job, entry, host, `cannot be reached: ${outcome.detail}`) : 'again';
    }
    if (outcome.code === 'ticket-expired' && attempts.expired < EXPIRED_MAX) {
      attempts.expired += 1;
      entry.ticket = null;
      return 'again';
    }
    const why = `${outcome.code}: ${outcome.detail}`;
    if (FINAL_REFUSALS.has(outcome.code)) return this.#refused(job, entry, host, why);
    attempts.refusedOrder = true;
    return this.#callOff(job, entry, host, attempts, why);
  }

  #isUnsentForLong(attempts: Attempts): boolean {
    const nowMs = this.#term.world.clock.monotonicMs();
    attempts.unsent += 1;
    attempts.unsentSinceMs ??= nowMs;
    return attempts.unsent >= UNSENT_MAX || nowMs - attempts.unsentSinceMs >= UNSENT_FOR_MS;
  }

  #started(job: OwnedJob, entry: Entry, report: AllocationReport): Step {
    const isFirst = entry.stage !== 'started';
    entry.stage = 'started';
    if (report.state === 'rejected') {
      this.#reject(job, entry, report.reason);
      return 'done';
    }
    if (isAllStarted(job, entry)) job.group(entry.allocation.group).blocks = 0;
    if (isFirst) this.#term.emit('started', job, `on ${entry.allocation.host}: ${report.state}`, entry);
    // It is used up, and would be kept as long as the allocation.
    entry.ticket = null;
    this.#term.report(report);
    return 'done';
  }

  /** The host refused, or surely never got the order: nothing runs there, the claim may go. */
  #refused(job: OwnedJob, entry: Entry, host: Host, why: string): Step {
    this.#term.stats.startsRefused += 1;
    this.#reject(job, entry, why);
    this.#term.world.log.info({ ...idsOf(job, entry), host: host.id, why }, 'a host refused a start');
    return 'done';
  }

  #reject(job: OwnedJob, entry: Entry, why: string): void {
    const { host, group } = entry.allocation;
    // It was chosen though it is avoided: no other host fits, and another order at once would only be refused.
    if (job.avoids(host)) backOffGroup(this.#term, job, group, why, null);
    this.#term.searchElsewhere();
    job.avoidHost(host, this.#term.world.clock.monotonicMs() + AVOID_MS);
    this.#term.emit('refused-host', job, why, entry);
    this.#parts.releaseClaim(job, entry, why);
  }

  /** After some refusals the claim goes back, of which the host is not to blame: the same one may be chosen again, after a while. */
  async #ticketRefused(
    job: OwnedJob,
    entry: Entry,
    host: Host,
    attempts: Attempts,
    why: string,
  ): Promise<Step> {
    if (!this.#isWanted(job, entry)) return 'done';
    if (attempts.refusedTickets < TICKET_TRIES_MAX) return 'again';
    const waiting = `waiting for a ticket: ${why}`;
    if (attempts.mayBeSent || attempts.refusedOrder)
      return this.#callOff(job, entry, host, attempts, waiting);
    backOffGroup(this.#term, job, entry.allocation.group, waiting, null);
    this.#term.emit('refused-ticket', job, why, entry);
    this.#parts.releaseClaim(job, entry, waiting);
    return 'done';
  }

  async #giveUp(job: OwnedJob, entry: Entry, host: Host, attempts: Attempts, why: string): Promise<Step> {
    const mayRun = attempts.mayBeSent || attempts.refusedOrder;
    return mayRun ? this.#callOff(job, entry, host, attempts, why) : this.#refused(job, entry, host, why);
  }

  /**
   * An order to start may still arrive: the host is ordered to stop the allocation, which makes it refuse a later start. The
   * record says `run`: only its owner may send this, and only while nothing else is known of the allocation.
   */
  async #callOff(job: OwnedJob, entry: Entry, host: Host, attempts: Attempts, why: string): Promise<Step> {
    const { id, epoch } = entry.allocation;
    const isWanted = (): boolean => this.#isWanted(job, entry);
    const order = { commandId: `${id}-give-up`, mode: 'remove', cause: why } as const;
    const target = { host: host.id, id, counter: epoch.counter };
    const outcome = await orderStop(this.#term, target, order, isWanted);
    if (!isWanted()) return 'done';
    if (outcome === undefined) return 'again';
    if (outcome.kind === 'absent') return this.#refused(job, entry, host, why);
    if (outcome.kind === 'refused') {
      this.#term.world.log.warn({ ...idsOf(job, entry), ...outcome }, 'a host refused to call off a start');
      // The host accepts neither order from this scheduler, and so no copy of the first one either.
      if (attempts.refusedOrder && outcome.code !== 'epoch-old') return this.#refused(job, entry, host, why);
    }
    if (outcome.kind !== 'stopping') return 'again';
    return this.#started(job, entry, outcome.report);
  }
}

/** For the span of an order; null: it did not fail. */
function failureOf(outcome: StartOutcome | undefined): string | null {
  if (outcome === undefined) return 'not sent';
  if (outcome.kind === 'started') return null;
  return outcome.kind === 'refused' ? `${outcome.code}: ${outcome.detail}` : outcome.detail;
}

/** One started member of a gang says nothing of another member that hosts refuse again and again. */
function isAllStarted(job: OwnedJob, { allocation: { group } }: Entry): boolean {
  if (job.record.job.groups[group]?.gang !== true) return true;
  for (const { allocation, stage } of job.entries.values())
    if (allocation.group === group && stage !== 'started') return false;
  return true;
}
