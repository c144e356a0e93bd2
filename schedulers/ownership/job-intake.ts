import type { LiveAllocation } from '../../src/core/slots/job-view.ts';
import { OBSERVED_RANK } from '../../src/core/host/states.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { RecordError } from '../../src/wire/codec/codec.ts';
import type { Term } from '../state/state.ts';
import type { Intents } from '../gangs/intents.ts';
import type { JobBook } from '../state/job-table.ts';
import type { JobLoader, StoredJob } from './job-loader.ts';
import { NOTHING_STORED } from './job-loader.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import { newEntry } from '../state/owned-job.ts';
import type { Reports } from '../hosts/reports.ts';
import type { Starter } from '../hosts/starter.ts';
import type { Strays } from '../repair/unrecorded.ts';

const LOAD_RETRY_MS = 1_000;
/** Somebody has to mend what cannot be read, or to start a version that can read it. */
const UNREADABLE_AGAIN_MS = 10_000;
/** A gang is made effective, or given up, within some round trips; when its scheduler died, within seconds. */
const UNDECIDED_MS = 200;
/** Until a host that did not answer is asked again for what it knows, or is declared lost; and until room is looked for again. */
const STRAYS_AGAIN_MS = 200;

export interface JobIntakeParts {
  readonly loader: JobLoader;
  readonly book: JobBook;
  readonly reports: Reports;
  readonly starter: Starter;
  readonly intents: Intents;
  /** null: the store was never restored, and knows all that hosts know. */
  readonly strays: Strays | null;
}

/** Takes up what the store holds of a job: when it becomes ours, and whenever we may not know all of it. */
export class JobIntake {
  readonly #term: Term;
  readonly #parts: JobIntakeParts;

  constructor(term: Term, parts: JobIntakeParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /**
   * A job of which the store held nothing but its record when it became ours: there is nothing to read.
   * @returns false: there may be after all, of a gang that was begun, or on hosts that know more than a restored store
   */
  takeUpBare(job: OwnedJob): boolean {
    if (job.hasGangs || this.#parts.strays !== null) return false;
    this.#loaded(job, NOTHING_STORED);
    return true;
  }

  /** Until the job was read, or is no longer ours. The job is stale meanwhile. */
  async load(job: OwnedJob, delayMs: number): Promise<void> {
    const { world, signal } = this.#term;
    let waitMs = delayMs;
    while (!job.dropped && !signal.aborted) {
      if (waitMs > 0) await sleep(world.clock, waitMs, signal);
      try {
        const { landings } = job;
        const { namespace, name, record, hasGangs } = job;
        const stored = await this.#parts.loader.load({
          ...{ namespace, job: name, version: record.version, hasGangs },
        });
        if (job.dropped) return;
        if (stored.unreadable !== null && !this.#mayDoWithout(job)) throw stored.unreadable;
        if (!(await this.#isWithoutIntents(job, stored))) continue;
        if (!(await this.#isDecided(stored))) continue;
        await this.#learn(job, stored);
        // An own write landed meanwhile, and the lists may be from before it: they would make us forget what we placed,
        // or take up again what was released. Nothing new is decided while the job is stale, so this ends.
        if (job.landings !== landings) continue;
        const waiting = this.#parts.strays === null ? [] : await this.#parts.strays.takeUp(job, stored);
        if (job.dropped) return;
        // Of a job that was loaded in part something may have landed meanwhile.
        if (job.landings !== landings) continue;
        if (waiting?.length === 0 && stored.unreadable === null) {
          job.inPart = false;
          job.unrecorded = waiting;
          this.#loaded(job, stored);
          return;
        }
        waitMs = stored.unreadable === null ? STRAYS_AGAIN_MS : UNREADABLE_AGAIN_MS;
        const isInPart = this.#loadedInPart(job, stored, waiting);
        if (isInPart && job.record.desired === 'run') await this.#whileOthersStay(job);
      } catch (error) {
        const isUnreadable = error instanceof RecordError;
        if (!isUnreadable && !(error instanceof StoreError)) throw error;
        world.log.warn({ job: job.key, error }, 'cannot read a job');
        waitMs = isUnreadable ? UNREADABLE_AGAIN_MS : LOAD_RETRY_MS;
      }
    }
  }

  /**
   * Of a job that is to stop, what can be read is stopped: nothing is placed for it, whatever the rest says (decision 200). After a
   * restore, what cannot be read looks like what only its host knows of.
   */
  #mayDoWithout(job: OwnedJob): boolean {
    return job.record.desired === 'stop' && this.#parts.strays === null;
  }

  /**
   * What hosts know of the job and the store does not cannot all be taken up yet: where somebody else was given its place, that
   * takes as long as he stays. The rest of the job need not wait for it, if it is to stop, as nothing is placed for it then, or if
   * all is known that fills its slots. A gang is looked at whole.
   *
   * @param waiting see `Strays.takeUp`
   */
  #loadedInPart(job: OwnedJob, stored: StoredJob, waiting: readonly LiveAllocation[] | null): boolean {
    const isToStop = job.record.desired === 'stop';
    if (!isToStop && (waiting === null || stored.unreadable !== null || job.hasGangs)) return false;
    job.inPart = true;
    job.unrecorded = isToStop || waiting === null ? [] : waiting;
    this.#loaded(job, stored);
    return true;
  }

  /** Until all of the job has to be read again: what waits may wait no more, or its record is another one. */
  async #whileOthersStay(job: OwnedJob): Promise<void> {
    const { world, signal } = this.#term;
    try {
      while (!job.stale && !job.dropped && !signal.aborted) {
        await sleep(world.clock, STRAYS_AGAIN_MS, signal);
        if ((await this.#parts.strays?.tryAgain(job)) !== false) return;
      }
    } finally {
      job.stale = true;
    }
  }

  /** The reports of what others placed went by before the job was ours. What is not learnt, its host is asked for. */
  async #learn(job: OwnedJob, { allocations }: StoredJob): Promise<void> {
    const { reports, strays } = this.#parts;
    const isNew = allocations.some(
      ({ allocation: { id, host } }) => !job.entries.has(id) && reports.get(host, id) === undefined,
    );
    if (isNew && strays === null) await reports.learn(job.key);
  }

  /**
   * Reserved members are taken for allocations only when no intent of theirs is left: those that somebody left behind are
   * ended first, and then the job is read again.
   */
  async #isWithoutIntents(job: OwnedJob, stored: StoredJob): Promise<boolean> {
    const { intents } = this.#parts;
    const left = stored.intents.filter(({ id }) => !intents.holds(id));
    if (left.length > 0) {
      await intents.sweep(left);
      return false;
    }
    const hasMembers = stored.allocations.some(({ allocation }) => allocation.intent !== undefined);
    if (!hasMembers || stored.intentsRevision >= job.readFrom) return true;
    job.hadGangs = true;
    // An old answer, or the intents were not asked for: one of the members may belong to an intent that was written since.
    await sleep(this.#term.world.clock, LOAD_RETRY_MS, this.#term.signal);
    return false;
  }

  /**
   * Has every gang by intent to which allocations of the job yield come about? Until then nobody knows whether they are to
   * stop or to run on, and their records are not ours to change. One that does not come about takes its marks back first.
   */
  async #isDecided({ allocations }: StoredJob): Promise<boolean> {
    const { world, signal } = this.#term;
    const { store, keys, clock } = world;
    const intents = new Set<string>();
    const marked = new Map<string, number>();
    for (const { allocation, revision } of allocations) {
      const { namespace, job, id, yields } = allocation;
      if (yields === undefined) continue;
      const { intent } = yields;
      intents.add(keys.intent(intent.namespace, intent.job, intent.id));
      marked.set(keys.allocation(namespace, job, id), revision);
    }
    if (marked.size === 0) return true;
    const { entries } = await store.read([...intents, ...marked.keys()]);
    const isUndecided = [...intents].some((key) => entries.has(key));
    const isOld = [...marked].some(([key, revision]) => entries.get(key)?.modRevision !== revision);
    if (!isUndecided && !isOld) return true;
    if (isUndecided) await sleep(clock, UNDECIDED_MS, signal);
    return false;
  }

  #loaded(job: OwnedJob, stored: StoredJob): void {
    const present = new Set<string>();
    for (const { allocation, revision } of stored.allocations) {
      present.add(allocation.id);
      this.#loadedAllocation(job, allocation, revision);
    }
    for (const entry of [...job.entries.values()]) {
      const isOnItsWay = entry.revision === 0 || entry.releasing;
      if (!present.has(entry.allocation.id) && !isOnItsWay) this.#term.dropEntry(job, entry);
    }
    job.setOutcomes(stored.outcomes);
    for (const [version, spec] of stored.versions) job.keepVersion(version, spec);
    job.stale = false;
    this.#parts.reports.hostsChanged();
    this.#term.look(job);
  }

  #loadedAllocation(job: OwnedJob, allocation: Entry['allocation'], revision: number): void {
    const { book, intents, reports, starter } = this.#parts;
    // On its way here: the launcher says when it is more than reserved.
    if (allocation.intent !== undefined && intents.holds(allocation.intent)) return;
    const known = job.entries.get(allocation.id);
    if (known !== undefined) {
      if (known.revision === 0) return;
      // The list may be from before a commit of ours by which it gives way: then we know more than was read.
      if (revision >= known.revision) [known.allocation, known.revision] = [allocation, revision];
      if (known.undriven) void starter.verify(job, known);
      known.undriven = false;
      return;
    }
    const entry = newEntry(allocation, revision, 'verify');
    job.entries.set(allocation.id, entry);
    book.index(job, entry);
    const report = reports.get(allocation.host, allocation.id);
    if (report !== undefined) this.#term.report(report);
    if (entry.stage === 'verify') void starter.verify(job, entry);
    // Whoever committed it may have died before the host heard who gives way.
    const waits = OBSERVED_RANK[entry.report?.state ?? 'assigned'] < OBSERVED_RANK.running;
    if (allocation.desired === 'run' && waits) starter.clearWay(allocation, job);
  }
}
