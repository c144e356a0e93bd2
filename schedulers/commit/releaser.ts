import type { Outcome } from '../../src/core/cell/allocation.ts';
import { surplusOutcomes } from '../../src/core/slots/outcomes.ts';
import type { PartOutcome } from '../../src/core/commit/plan.ts';
import { Backoff } from '../../src/runtime/wait/backoff.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { Batches } from '../state/batches.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import { writeAsOwner } from '../state/owner-write.ts';
import type { Term } from '../state/state.ts';
import { idsOf, isCurrent, newId, RELOAD_DELAY_MS } from '../state/state.ts';

/** Releases in one plan: two or three writes each, so a few of the store's smallest transactions. */
const RELEASES_MAX = 128;
const PLANS_MAX = 4;
/** Tries to make a host forget a record whose outcome is durable; after them the reaper does. */
const REMOVE_TRIES_MAX = 5;
const REMOVE_RETRY = { firstMs: 500, maxMs: 10_000 };

interface Waiting {
  readonly job: OwnedJob;
  readonly entry: Entry;
  readonly outcome: Outcome | null;
  readonly isFenced: boolean;
}

/**
 * Drops claims and writes outcomes, many in one commit (S1.1, S1.27: capacity returns with this commit, never before). A host
 * keeps its own record, and the logs, for as long as the outcome is kept: it is ordered to forget those of allocations without
 * an outcome or with desired `remove`, and those whose outcomes are surplus. See `docs/decisions/stopping-and-release.md`.
 */
export class Releaser {
  readonly #term: Term;
  readonly #waiting: Waiting[] = [];
  readonly #plans = new Batches(
    PLANS_MAX,
    () => this.#waiting.length > 0,
    () => this.#commit(this.#waiting.splice(0, RELEASES_MAX)),
  );

  constructor(term: Term) {
    this.#term = term;
  }

  /**
   * Nothing of the allocation is left on its host. While its gang is being committed the release waits and is decided again
   * afterwards, since other members may stand by then.
   * @param outcome null: nothing worth keeping
   * @param isFenced not its host says that it ended, but somebody who answers for that
   */
  release(job: OwnedJob, entry: Entry, outcome: Outcome | null, isFenced = false): void {
    if (entry.releasing || entry.revision === 0) return;
    const commit = job.commitOf(entry.allocation.group);
    if (commit !== null) {
      const again = (): void => this.#decideAgain(job, entry);
      commit.then(again, again);
      return;
    }
    entry.releasing = true;
    this.#waiting.push({ job, entry, outcome, isFenced });
    this.#plans.schedule();
  }

  #decideAgain(job: OwnedJob, entry: Entry): void {
    if (!isCurrent(this.#term, job, entry) || entry.releasing) return;
    notReleased(entry);
    if (entry.needsVerify) this.#term.reload(job);
    else this.#term.enqueue(job);
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    const current = batch.filter(({ job, entry }) => isCurrent(this.#term, job, entry));
    if (current.length === 0) return;
    const { world } = this.#term;
    const startedMs = world.clock.nowMs();
    try {
      const outcome = await this.#term.commit({
        id: newId(world),
        atomicity: 'incremental',
        places: [],
        evictions: [],
        releases: current.map(({ entry, outcome: final, isFenced }) => ({
          allocation: entry.allocation,
          revision: entry.revision,
          outcome: final,
          ...(isFenced ? { isFenced } : {}),
        })),
      });
      for (const waiting of current) {
        this.#trace(waiting, startedMs);
        this.#committed(waiting, outcome.get(waiting.entry.allocation.id));
      }
    } catch (error) {
      world.log.warn({ error }, 'a release failed');
      for (const { job, entry } of current) {
        notReleased(entry);
        this.#term.reload(job, RELOAD_DELAY_MS);
      }
    }
  }

  #trace({ job, entry, outcome }: Waiting, startedMs: number): void {
    const span = this.#term.world.tracer?.begin('release', job.record.traceparent, startedMs);
    const { id, host } = entry.allocation;
    span?.end({ job: job.key, allocation: id, host, state: outcome?.state });
  }

  #committed({ job, entry, outcome }: Waiting, part: PartOutcome | undefined): void {
    const { allocation } = entry;
    if (part === undefined) throw new Error(`the plan's outcome leaves out ${allocation.id}`);
    this.#term.cell.syncLedger(allocation.host);
    if (part.kind === 'conflicted') {
      notReleased(entry);
      if (part.why.reason === 'not-owner') this.#term.ownershipLost(job);
      else this.#term.reload(job);
      return;
    }
    this.released(job, entry, outcome);
  }

  /** The release is durable: updates what is known here, and has records dropped that are not kept. */
  released(job: OwnedJob, entry: Entry, outcome: Outcome | null): void {
    if (job.dropped) return;
    const { allocation } = entry;
    job.ownWrites += 1;
    if (outcome !== null) job.addOutcome(outcome);
    this.#term.dropEntry(job, entry);
    const ended = outcome === null ? 'claim released' : `${outcome.state}: ${outcome.reason}`;
    this.#term.emit('released', job, ended, entry);
    // A kept outcome keeps the host's record and its logs too; the monitors' reaper ends both together.
    if (outcome === null || allocation.desired === 'remove')
      void this.#remove(allocation.host, allocation.id);
    const surplus = allocation.desired === 'remove' ? job.slotHistory(entry) : this.#surplus(job, entry);
    if (surplus.length > 0) void this.#prune(job, surplus);
    this.#term.enqueue(job);
  }

  #surplus(job: OwnedJob, entry: Entry): readonly Outcome[] {
    const group = job.record.job.groups[entry.allocation.group];
    if (group === undefined) return [];
    return surplusOutcomes(job.slotHistory(entry), group.reschedule, this.#term.options.outcomesPerSlot);
  }

  /** Deletes outcomes beyond those kept; after a fault they go with the next outcome of the slot. */
  async #prune(job: OwnedJob, surplus: readonly Outcome[]): Promise<void> {
    const { world } = this.#term;
    const deletes = surplus.map((outcome) => ({
      kind: 'delete' as const,
      key: world.keys.outcome(job.namespace, job.name, outcome.allocation),
    }));
    try {
      const reply = await writeAsOwner(world, job, deletes);
      if (reply.outcome !== 'applied') return;
      job.ownWrites += 1;
      for (const outcome of surplus) {
        job.dropOutcome(outcome);
        void this.#remove(outcome.host, outcome.allocation);
      }
    } catch (error) {
      world.log.debug({ ...idsOf(job), error }, 'surplus outcomes stay for now');
    }
  }

  /**
   * Orders the host to forget the record, whose outcome is durable or deleted; it forgets no task that it still runs. Tried
   * again until the host confirms, also when another scheduler owns the job by now.
   */
  async #remove(hostId: string, id: string): Promise<void> {
    const { hosts, hostCalls, signal, world } = this.#term;
    const backoff = new Backoff(REMOVE_RETRY, world.random);
    for (let tries = 0; tries < REMOVE_TRIES_MAX && !signal.aborted; tries++) {
      const remove = (address: string) => hosts.remove(address, id, `${id}-forget`);
      const outcome = await hostCalls.order(hostId, () => true, remove);
      // Not sent: the host is gone, or the term over.
      if (outcome === undefined || outcome.kind === 'removed') return;
      await sleep(world.clock, backoff.nextMs(), signal);
    }
    if (!signal.aborted) world.log.info({ allocation: id }, 'a host still keeps a record');
  }
}

/** The claim stays: unless its host reported the release, the host is asked again, or ordered again to stop it. */
function notReleased(entry: Entry): void {
  entry.releasing = false;
  if (entry.report?.released === true) return;
  entry.needsVerify = true;
  entry.orderedMs = null;
}
