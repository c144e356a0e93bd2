import type { Allocation } from '../../src/core/cell/allocation.ts';
import { forgottenOutcome } from '../../src/core/slots/outcomes.ts';
import type { Stop } from '../../src/core/slots/job-view.ts';
import { CAUSES } from '../../src/core/slots/job-view.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import { Backoff } from '../../src/runtime/wait/backoff.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { allocationCodec } from '../../src/wire/records/records.ts';
import type { Term } from '../state/state.ts';
import { isCurrent } from '../state/state.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import type { Releaser } from '../commit/releaser.ts';

/** Records rewritten in one transaction: one compare is for the owner key, and the floor is 128. */
const MARKS_MAX = 100;
const RETRY = { firstMs: 200, maxMs: 5_000 };
/** A host that heard an order and does not come to its end is told again after this time. */
const ORDER_AGAIN_MS = 10_000;
const RELOAD_DELAY_MS = 1_000;

/**
 * Stops allocations: first the store says so, then the host is told. In this order a successor finds the intention and
 * goes on with it, and nobody fills the slot for something that still should run.
 */
export class Stopper {
  readonly #term: Term;
  readonly #releaser: Releaser;

  constructor(term: Term, releaser: Releaser) {
    this.#term = term;
    this.#releaser = releaser;
  }

  /**
   * What the slots say should stop. What is not committed yet is looked at again when it is, and so is a gang of which some are
   * being committed.
   * @returns when the store has said so, or has not: then the job is read again
   */
  async stop(job: OwnedJob, stops: readonly Stop[]): Promise<void> {
    const marks: { entry: Entry; stopped: Allocation }[] = [];
    for (const { allocation, mode, cause } of stops) {
      const entry = job.entries.get(allocation.id);
      if (entry === undefined || entry.marking || entry.releasing) continue;
      if (entry.revision === 0 || job.commitOf(allocation.group) !== null) {
        job.again = true;
        continue;
      }
      entry.marking = true;
      marks.push({ entry, stopped: { ...entry.allocation, desired: mode, cause } });
    }
    const written: Promise<void>[] = [];
    for (let i = 0; i < marks.length; i += MARKS_MAX)
      written.push(this.#mark(job, marks.slice(i, i + MARKS_MAX)));
    await Promise.all(written);
  }

  /** Tells the hosts of what the store says already; after a take-over, and again when an order was lost. */
  orderAll(job: OwnedJob): void {
    const nowMs = this.#term.world.clock.monotonicMs();
    for (const entry of job.entries.values()) {
      const isHeard = entry.orderedMs !== null && nowMs - entry.orderedMs < ORDER_AGAIN_MS;
      const isDone = isHeard || entry.releasing || entry.ordering || entry.report?.released === true;
      if (entry.revision === 0 || entry.allocation.desired === 'run' || isDone || entry.marking) continue;
      void this.#order(job, entry);
    }
  }

  async #mark(
    job: OwnedJob,
    marks: readonly { readonly entry: Entry; readonly stopped: Allocation }[],
  ): Promise<void> {
    const { store, keys, log } = this.#term.world;
    const keyOf = (entry: Entry): string => keys.allocation(job.namespace, job.name, entry.allocation.id);
    try {
      const reply = await store.attempt({
        compares: [
          { key: keys.owner(job.namespace, job.name), target: 'createRevision', equals: job.ownerRevision },
          ...marks.map(({ entry }) => ({
            key: keyOf(entry),
            target: 'modRevision' as const,
            equals: entry.revision,
          })),
        ],
        writes: marks.map(({ entry, stopped }) => ({
          kind: 'put' as const,
          key: keyOf(entry),
          value: allocationCodec.encode(stopped),
        })),
        readBack: [],
      });
      if (reply.outcome === 'applied') this.#marked(job, marks, reply.revision);
      else this.#term.reload(job, reply.outcome === 'unknown' ? RELOAD_DELAY_MS : 0);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      log.warn({ job: job.key, error }, 'cannot mark allocations to be stopped');
      this.#term.reload(job, RELOAD_DELAY_MS);
    } finally {
      for (const { entry } of marks) entry.marking = false;
    }
  }

  #marked(
    job: OwnedJob,
    marks: readonly { readonly entry: Entry; readonly stopped: Allocation }[],
    revision: number,
  ): void {
    job.landings += 1;
    for (const { entry, stopped } of marks) {
      entry.allocation = stopped;
      entry.revision = revision;
      entry.marking = false;
      entry.orderedMs = null;
      this.#term.say('stopping', job, stopped.cause ?? stopped.desired, entry);
      if (isCurrent(this.#term, job, entry) && entry.report?.released !== true) void this.#order(job, entry);
    }
    this.#term.look(job);
  }

  async #order(job: OwnedJob, entry: Entry): Promise<void> {
    entry.ordering = true;
    const backoff = new Backoff(RETRY, this.#term.world.random);
    try {
      while (this.#isWanted(job, entry)) {
        if (await this.#tell(job, entry)) {
          entry.orderedMs = this.#term.world.clock.monotonicMs();
          return;
        }
        await sleep(this.#term.world.clock, backoff.nextMs(), this.#term.signal);
      }
    } finally {
      entry.ordering = false;
    }
  }

  /** Its record says so for good, whoever owns the job: an order that arrives when another does harms nobody. */
  #isWanted(job: OwnedJob, entry: Entry): boolean {
    return isCurrent(this.#term, job, entry) && !entry.releasing && entry.report?.released !== true;
  }

  /** @returns the host has heard it */
  async #tell(job: OwnedJob, entry: Entry): Promise<boolean> {
    const { allocation } = entry;
    const { desired } = allocation;
    if (desired === 'run') return false;
    const { cell, hosts, hostCalls, incarnation } = this.#term;
    const isWanted = (): boolean => this.#isWanted(job, entry);
    const outcome = await hostCalls.order(allocation.host, isWanted, (address) => {
      const { counter } = cell.book.get(allocation.host).ledger;
      return hosts.stop(address, allocation.id, {
        commandId: `${allocation.id}-${desired}`,
        epoch: { incarnation, counter: Math.max(counter, allocation.epoch.counter) },
        // Its host is to record that nobody wanted this task to end, only to be elsewhere.
        mode: allocation.cause === CAUSES.draining ? 'drain' : desired,
        cause: allocation.cause ?? desired,
      });
    });
    if (!isCurrent(this.#term, job, entry)) return true;
    if (outcome === undefined) return false;
    switch (outcome.kind) {
      case 'stopping':
        this.#term.report(outcome.report);
        return true;
      case 'absent': {
        // Never started there, or forgotten with all else; and the host will not start it any more.
        const nowMs = Math.floor(this.#term.world.clock.nowMs());
        this.#releaser.release(job, entry, forgottenOutcome(allocation, 'host-forgot', nowMs));
        return true;
      }
      case 'refused':
        this.#term.world.log.warn({ allocation: allocation.id, ...outcome }, 'a host refused to stop');
        return false;
      case 'unknown':
        return false;
    }
  }
}
