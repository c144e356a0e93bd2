import type { Outcome } from '../../src/core/cell/allocation.ts';
import { surplusOutcomes } from '../../src/core/slots/outcomes.ts';
import type { PartOutcome } from '../../src/core/commit/plan.ts';
import { Backoff } from '../../src/runtime/wait/backoff.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { makeId } from '../../src/core/cell/ids.ts';
import type { Term } from '../state/state.ts';
import { isCurrent } from '../state/state.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';

/** Releases in one plan: two or three writes each, so a few of the store's smallest transactions. */
const RELEASES_MAX = 128;
const PLANS_MAX = 4;
/** Tries to make a host forget a record whose outcome is durable; what is left then is the reaper's. */
const REMOVE_TRIES_MAX = 5;
const REMOVE_RETRY = { firstMs: 500, maxMs: 10_000 };
/** After a fault of the store, before the job is read again. */
const RELOAD_DELAY_MS = 1_000;

interface Waiting {
  readonly job: OwnedJob;
  readonly entry: Entry;
  readonly outcome: Outcome | null;
}

/**
 * Drops claims and writes outcomes, in one commit for as many as are there; then lets the hosts forget (S1.1, S1.27:
 * capacity returns with this commit, never before).
 */
export class Releaser {
  readonly #term: Term;
  readonly #waiting: Waiting[] = [];
  #plans = 0;
  #scheduled = false;

  constructor(term: Term) {
    this.#term = term;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Nothing of the allocation is left on its host. @param outcome null: nothing worth keeping */
  release(job: OwnedJob, entry: Entry, outcome: Outcome | null): void {
    if (entry.releasing || entry.revision === 0) return;
    const commit = job.commitOf(entry.allocation.group);
    if (commit !== null) {
      const again = (): void => this.#decideAnew(job, entry);
      commit.then(again, again);
      return;
    }
    entry.releasing = true;
    this.#waiting.push({ job, entry, outcome });
    this.#schedule();
  }

  /** It had to wait, and what it was released for may hold no longer: others of its gang are there now, or it is told to stop. */
  #decideAnew(job: OwnedJob, entry: Entry): void {
    if (!isCurrent(this.#term, job, entry) || entry.releasing) return;
    takeBack(entry);
    if (entry.undriven) this.#term.reload(job);
    else this.#term.look(job);
  }

  /** In the next microtask, so that what ends in one turn is released together. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    void Promise.resolve().then(() => {
      this.#scheduled = false;
      while (this.#plans < PLANS_MAX && this.#waiting.length > 0)
        void this.#commit(this.#waiting.splice(0, RELEASES_MAX));
    });
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    const current = batch.filter(({ job, entry }) => isCurrent(this.#term, job, entry));
    if (current.length === 0) return;
    this.#plans += 1;
    const { clock, random, log } = this.#term.world;
    try {
      const outcome = await this.#term.commit({
        id: makeId(clock.nowMs(), random.bytes(16)),
        atomicity: 'incremental',
        places: [],
        evictions: [],
        releases: current.map(({ entry, outcome: final }) => ({
          allocation: entry.allocation,
          revision: entry.revision,
          outcome: final,
        })),
      });
      for (const waiting of current) this.#landed(waiting, outcome.get(waiting.entry.allocation.id));
    } catch (error) {
      log.warn({ error }, 'a release failed');
      for (const { job, entry } of current) {
        takeBack(entry);
        this.#term.reload(job, RELOAD_DELAY_MS);
      }
    } finally {
      this.#plans -= 1;
      if (this.#waiting.length > 0) this.#schedule();
    }
  }

  #landed({ job, entry, outcome }: Waiting, part: PartOutcome | undefined): void {
    const { allocation } = entry;
    if (part === undefined) throw new Error(`the plan's outcome leaves out ${allocation.id}`);
    this.#term.cell.syncLedger(allocation.host);
    if (part.kind === 'conflicted') {
      takeBack(entry);
      if (part.why.reason === 'not-owner') this.#term.lose(job);
      else this.#term.reload(job);
      return;
    }
    this.gone(job, entry, outcome);
  }

  /** The release is durable: what follows from it. */
  gone(job: OwnedJob, entry: Entry, outcome: Outcome | null): void {
    if (job.dropped) return;
    const { allocation } = entry;
    job.landings += 1;
    if (outcome !== null) job.addOutcome(outcome);
    this.#term.dropEntry(job, entry);
    const ended = outcome === null ? 'claim given back' : `${outcome.state}: ${outcome.reason}`;
    this.#term.say('released', job, ended, entry);
    // A kept outcome keeps the host's record and its output too; the monitors' reaper ends both together.
    if (outcome === null || allocation.desired === 'remove')
      void this.#remove(allocation.host, allocation.id);
    const surplus = allocation.desired === 'remove' ? job.slotHistory(entry) : this.#surplus(job, entry);
    if (surplus.length > 0) void this.#prune(job, surplus);
    this.#term.look(job);
  }

  #surplus(job: OwnedJob, entry: Entry): readonly Outcome[] {
    const group = job.record.job.groups[entry.allocation.group];
    if (group === undefined) return [];
    return surplusOutcomes(job.slotHistory(entry), group.reschedule, this.#term.options.outcomesPerSlot);
  }

  /** Outcomes beyond what is kept; one that stays by a fault goes with the next one of its slot. */
  async #prune(job: OwnedJob, surplus: readonly Outcome[]): Promise<void> {
    const { store, keys, log } = this.#term.world;
    try {
      const reply = await store.attempt({
        compares: [
          {
            key: keys.owner(job.namespace, job.name),
            target: 'createRevision',
            equals: job.ownerRevision,
          },
        ],
        writes: surplus.map((outcome) => ({
          kind: 'delete',
          key: keys.outcome(job.namespace, job.name, outcome.allocation),
        })),
        readBack: [],
      });
      if (reply.outcome !== 'applied') return;
      job.landings += 1;
      for (const outcome of surplus) {
        job.dropOutcome(outcome);
        void this.#remove(outcome.host, outcome.allocation);
      }
    } catch (error) {
      log.debug({ job: job.key, error }, 'surplus outcomes stay for now');
    }
  }

  /**
   * The outcome is durable, or gone: the host may forget the record, and forgets none of what it still runs. Said again until it
   * is heard, for a while, also when the job has another owner by now.
   */
  async #remove(hostId: string, id: string): Promise<void> {
    const { clock, random, log } = this.#term.world;
    const backoff = new Backoff(REMOVE_RETRY, random);
    for (let tries = 0; tries < REMOVE_TRIES_MAX && !this.#term.signal.aborted; tries++) {
      const { hosts, hostCalls } = this.#term;
      const remove = (address: string) => hosts.remove(address, id, `${id}-remove`);
      const outcome = await hostCalls.order(hostId, () => true, remove);
      // Not sent: the host is gone, or the term over.
      if (outcome === undefined || outcome.kind === 'removed') return;
      await sleep(clock, backoff.nextMs(), this.#term.signal);
    }
    if (!this.#term.signal.aborted) log.info({ allocation: id }, 'a host still keeps a record');
  }
}

/** It is still there: when its host did not say that all is over, the host is asked anew what has become of it, or told to stop. */
function takeBack(entry: Entry): void {
  entry.releasing = false;
  if (entry.report?.released === true) return;
  entry.undriven = true;
  entry.orderedMs = null;
}
