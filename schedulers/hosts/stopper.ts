import type { Allocation } from '../../src/core/cell/allocation.ts';
import { forgottenOutcome } from '../../src/core/slots/outcomes.ts';
import type { Stop } from '../../src/core/slots/job-view.ts';
import { duplicatedBy } from '../../src/core/slots/duplicates.ts';
import { CAUSES } from '../../src/core/slots/job-view.ts';
import type { Compare } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import { Backoff } from '../../src/runtime/wait/backoff.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import type { Releaser } from '../commit/releaser.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import type { OwnedRecord } from '../state/owner-write.ts';
import { rewriteAsOwner } from '../state/owner-write.ts';
import type { Term } from '../state/state.ts';
import { idsOf, isCurrent, RELOAD_DELAY_MS, wallMs } from '../state/state.ts';
import { ORDER_RETRY, orderStop } from './hosts.ts';

/** Records rewritten in one transaction: one compare is for the owner key, and the floor is 128. */
const MARKS_MAX = 100;
/** The same where each stops beside one that is kept, or for the state of a host, which is compared too. */
const PAIRS_MAX = 63;
/** Beside those rewritten and the owner key. */
const COMPARES_MAX = 127;
/** A host that confirmed an order and does not come to its end is ordered again after this time. */
const ORDER_AGAIN_MS = 10_000;

/** Stops that a policy allows while enough others are up. */
const BY_POLICY = [CAUSES.version, CAUSES.draining, CAUSES.notMatching, CAUSES.moved];

interface Mark {
  readonly entry: Entry;
  readonly stopped: Allocation;
}

/**
 * Stops allocations: first the record says so, then the host is ordered. In this order a successor finds the intention and
 * continues with it, and no slot is filled for an allocation that still should run. A record never goes back to `run`, so an
 * order that arrives late is harmless.
 */
export class Stopper {
  readonly #term: Term;
  readonly #releaser: Releaser;

  constructor(term: Term, releaser: Releaser) {
    this.#term = term;
    this.#releaser = releaser;
  }

  /**
   * Marks the allocations to stop. Those that are not committed yet, and members of a gang that is being committed, are
   * decided again after the commit; so are all while others of the job are being marked, which were evaluated as if they stayed.
   * @returns when the records are written; a refused or unanswered write has the job read again
   */
  async stop(job: OwnedJob, stops: readonly Stop[]): Promise<void> {
    for (const { marking } of job.entries.values()) if (marking) return;
    const marks: Mark[] = [];
    for (const { allocation, mode, cause } of stops) {
      const entry = job.entries.get(allocation.id);
      if (entry === undefined || entry.releasing) continue;
      if (entry.revision === 0 || job.commitOf(allocation.group) !== null) {
        job.revisit = true;
        continue;
      }
      entry.marking = true;
      marks.push({ entry, stopped: { ...entry.allocation, desired: mode, cause } });
    }
    const written: Promise<void>[] = [];
    const isPair = ({ stopped: { cause } }: Mark): boolean =>
      duplicatedBy(cause) !== null || isForHost(cause);
    const most = marks.some(isPair) ? PAIRS_MAX : MARKS_MAX;
    for (let i = 0; i < marks.length; i += most) written.push(this.#mark(job, marks.slice(i, i + most)));
    await Promise.all(written);
  }

  /** Orders the hosts to stop what is marked already: after a take-over, and again when an order was lost. */
  orderAll(job: OwnedJob): void {
    const nowMs = this.#term.world.clock.monotonicMs();
    for (const entry of job.entries.values()) {
      const isConfirmed = entry.orderedMs !== null && nowMs - entry.orderedMs < ORDER_AGAIN_MS;
      const isDone = isConfirmed || entry.releasing || entry.ordering || entry.report?.released === true;
      if (entry.revision === 0 || entry.allocation.desired === 'run' || isDone || entry.marking) continue;
      void this.#order(job, entry);
    }
  }

  async #mark(job: OwnedJob, marks: readonly Mark[]): Promise<void> {
    const { world } = this.#term;
    const records = marks.map(({ entry, stopped }) => ({ allocation: stopped, revision: entry.revision }));
    const hosts = this.#hostsStopped(marks);
    try {
      const counted = countedOn(job, marks, COMPARES_MAX - marks.length - hosts.length);
      const reply = await rewriteAsOwner(world, job, records, counted, hosts);
      // What is read of the job says nothing about hosts: that is heard of by then.
      const isReadAtOnce = reply.outcome === 'refused' && hosts.length === 0;
      if (reply.outcome === 'applied') this.#marked(job, marks, reply.revision);
      else this.#term.reload(job, isReadAtOnce ? 0 : RELOAD_DELAY_MS);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      world.log.warn({ ...idsOf(job), error }, 'cannot mark allocations to be stopped');
      this.#term.reload(job, RELOAD_DELAY_MS);
    } finally {
      for (const { entry } of marks) entry.marking = false;
    }
  }

  /** That the hosts whose state is the cause of a stop still have it: an operator may have ended the drain a moment ago (I63). */
  #hostsStopped(marks: readonly Mark[]): readonly Compare[] {
    const { cell, world } = this.#term;
    const hosts = new Set<string>();
    for (const { stopped } of marks) if (isForHost(stopped.cause)) hosts.add(stopped.host);
    return Array.from(hosts, (host) => ({
      key: world.keys.eligibilityOf(host),
      target: 'modRevision',
      equals: cell.eligibilityRevision(host),
    }));
  }

  #marked(job: OwnedJob, marks: readonly Mark[], revision: number): void {
    job.ownWrites += 1;
    for (const { entry, stopped } of marks) {
      entry.allocation = stopped;
      entry.revision = revision;
      entry.marking = false;
      entry.stoppedAtMs = wallMs(this.#term.world);
      entry.orderedMs = null;
      this.#term.emit('stopping', job, stopped.cause ?? stopped.desired, entry);
      if (this.#isWanted(job, entry)) void this.#order(job, entry);
    }
    this.#term.enqueue(job);
  }

  async #order(job: OwnedJob, entry: Entry): Promise<void> {
    entry.ordering = true;
    const { world, signal } = this.#term;
    const backoff = new Backoff(ORDER_RETRY, world.random);
    try {
      while (this.#isWanted(job, entry)) {
        if (await this.#orderOnce(job, entry)) {
          entry.orderedMs = world.clock.monotonicMs();
          return;
        }
        await sleep(world.clock, backoff.nextMs(), signal);
      }
    } finally {
      entry.ordering = false;
    }
  }

  #isWanted(job: OwnedJob, entry: Entry): boolean {
    return isCurrent(this.#term, job, entry) && !entry.releasing && entry.report?.released !== true;
  }

  /** @returns the host has confirmed the order */
  async #orderOnce(job: OwnedJob, entry: Entry): Promise<boolean> {
    const { allocation } = entry;
    const { id, host, epoch, desired, cause } = allocation;
    if (desired === 'run') return false;
    const { world } = this.#term;
    const order = {
      commandId: `${id}-${desired}`,
      // Its host records that the task was not to end, only to move.
      mode: leavesHost(cause) ? 'drain' : desired,
      cause: cause ?? desired,
    } as const;
    const target = { host, id, counter: epoch.counter };
    const outcome = await orderStop(this.#term, target, order, () => this.#isWanted(job, entry));
    if (!isCurrent(this.#term, job, entry)) return true;
    if (outcome === undefined) return false;
    switch (outcome.kind) {
      case 'stopping':
        this.#term.report(outcome.report);
        return true;
      case 'absent':
        // Never started there, or forgotten with all other records; the host refuses to start it from now on.
        this.#releaser.release(job, entry, forgottenOutcome(allocation, 'host-forgot', wallMs(world)));
        return true;
      case 'refused':
        world.log.warn({ ...idsOf(job, entry), ...outcome }, 'a host refused to stop');
        return false;
      case 'unknown':
        return false;
    }
  }
}

/**
 * What must still be to run, since others are stopped for it. Another scheduler may have evicted it a moment ago, which its owner
 * hears of from its host only.
 * @param most so many at most, but all that is kept of duplicates
 */
function countedOn(job: OwnedJob, marks: readonly Mark[], most: number): readonly OwnedRecord[] {
  const counted = new Set<Entry>(keptBeside(job, marks));
  for (const entry of countedUp(job, marks)) {
    if (counted.size >= most) break;
    counted.add(entry);
  }
  return [...counted];
}

/** What is kept of duplicates: else a slot would lose both. */
function* keptBeside(job: OwnedJob, marks: readonly Mark[]): Generator<Entry> {
  for (const { stopped } of marks) {
    const kept = job.entries.get(duplicatedBy(stopped.cause) ?? '');
    if (kept !== undefined) yield kept;
  }
}

/**
 * What else runs in a service's groups of which something is stopped by a policy: it allowed that since these are up (I63). Of a
 * large group as many as the transaction may compare.
 */
function* countedUp(job: OwnedJob, marks: readonly Mark[]): Generator<Entry> {
  if (job.record.job.type !== 'service') return;
  const byPolicy = marks.filter(({ stopped }) => BY_POLICY.some((cause) => stopped.cause?.startsWith(cause)));
  const groups = new Set(byPolicy.map(({ stopped }) => stopped.group));
  for (const entry of job.entries.values()) {
    const { allocation, revision, marking } = entry;
    const isCounted = revision !== 0 && !marking && allocation.desired === 'run';
    if (isCounted && groups.has(allocation.group)) yield entry;
  }
}

/** Is it stopped for the state of its host? */
function isForHost(cause: string | undefined): boolean {
  return cause === CAUSES.draining || cause === CAUSES.hostLost;
}

/** Is the allocation to go on elsewhere? */
function leavesHost(cause: string | undefined): boolean {
  return cause === CAUSES.draining || cause?.startsWith(CAUSES.moved) === true;
}
