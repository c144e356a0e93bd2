import type { LiveAllocation } from '../../src/core/slots/job-view.ts';
import { OBSERVED_RANK } from '../../src/core/host/states.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { RecordError } from '../../src/wire/wire.ts';
import type { Intents } from '../gangs/intents.ts';
import type { Reports } from '../hosts/reports.ts';
import type { Starter } from '../hosts/starter.ts';
import type { UnrecordedAllocations } from '../repair/unrecorded.ts';
import type { JobTable } from '../state/job-table.ts';
import type { OwnedJob } from '../state/owned-job.ts';
import { Entry } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import { idsOf } from '../state/state.ts';
import type { StoredJob } from '../state/stored-job.ts';
import { NOTHING_STORED } from '../state/stored-job.ts';
import type { JobLoader } from './job-loader.ts';

const LOAD_RETRY_MS = 1_000;
/** Before an unreadable record is read again: it must be mended first, or a version that can read it started. */
const UNREADABLE_AGAIN_MS = 10_000;
/** A gang is made effective, or abandoned, within some round trips; when its scheduler died, within seconds. */
const UNDECIDED_MS = 200;
/** Before a host without an answer is asked again for what it runs, and before capacity is looked for again. */
const UNRECORDED_AGAIN_MS = 200;

export interface JobIntakeParts {
  readonly loader: JobLoader;
  readonly table: JobTable;
  readonly reports: Reports;
  readonly starter: Starter;
  readonly intents: Intents;
  /** null: the store was never restored, and knows all that hosts know. */
  readonly unrecorded: UnrecordedAllocations | null;
}

/**
 * Takes up what the store holds of a job: when this scheduler comes to own it, and whenever the store may hold more than is
 * known here.
 */
export class JobIntake {
  readonly #term: Term;
  readonly #parts: JobIntakeParts;

  constructor(term: Term, parts: JobIntakeParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /**
   * Takes up a job of which the store held only the record when it was claimed: there is nothing to read.
   * @returns false: there may be more, of a gang that was begun, or on hosts of a restored cell
   */
  takeUpBare(job: OwnedJob): boolean {
    if (job.hasGangs || this.#parts.unrecorded !== null) return false;
    this.#loaded(job, NOTHING_STORED);
    return true;
  }

  /** Reads the job until all of it is taken up, or it is no longer owned. The job is stale meanwhile. */
  async load(job: OwnedJob, delayMs: number): Promise<void> {
    const { world, signal } = this.#term;
    let waitMs = delayMs;
    while (!job.dropped && !signal.aborted) {
      if (waitMs > 0) await sleep(world.clock, waitMs, signal);
      try {
        const { ownWrites, namespace, name, record, hasGangs } = job;
        const stored = await this.#parts.loader.load({
          ...{ namespace, job: name, version: record.version, hasGangs },
        });
        if (job.dropped) return;
        if (stored.unreadable !== null && !this.#mayDoWithout(job)) throw stored.unreadable;
        if (!(await this.#isWithoutIntents(job, stored))) continue;
        if (!(await this.#isDecided(stored))) continue;
        await this.#learn(job, stored);
        // An own write was applied meanwhile, and the lists may be older: they would make the scheduler forget what it placed,
        // or take up again what it released. Nothing new is decided while the job is stale, so this ends.
        if (job.ownWrites !== ownWrites) continue;
        const waiting =
          this.#parts.unrecorded === null ? [] : await this.#parts.unrecorded.takeUp(job, stored);
        if (job.dropped) return;
        // The same for a partly loaded job, for which decisions go on.
        if (job.ownWrites !== ownWrites) continue;
        if (waiting?.length === 0 && stored.unreadable === null) {
          job.partlyLoaded = false;
          job.unrecorded = waiting;
          this.#loaded(job, stored);
          return;
        }
        waitMs = stored.unreadable === null ? UNRECORDED_AGAIN_MS : UNREADABLE_AGAIN_MS;
        const isPart = this.#loadPart(job, stored, waiting);
        if (isPart && job.record.desired === 'run') await this.#untilRecordable(job);
      } catch (error) {
        const isUnreadable = error instanceof RecordError;
        if (!isUnreadable && !(error instanceof StoreError)) throw error;
        world.log.warn({ ...idsOf(job), error }, 'cannot read a job');
        waitMs = isUnreadable ? UNREADABLE_AGAIN_MS : LOAD_RETRY_MS;
      }
    }
  }

  /**
   * An unreadable record holds the whole job back: an empty slot would be a conclusion from silence. But of a job that is to
   * stop, what can be read is stopped: nothing is placed for it, whatever the rest says. Not after a restore, when an
   * unreadable record looks like an unrecorded allocation.
   */
  #mayDoWithout(job: OwnedJob): boolean {
    return job.record.desired === 'stop' && this.#parts.unrecorded === null;
  }

  /**
   * Takes up a part of the job, while unrecorded allocations wait for their capacity, which takes as long as other claims hold
   * it. The rest need not wait if the job is to stop, as nothing is placed for it then, or if all allocations that fill its
   * slots are known. A gang is decided on whole.
   *
   * @param waiting see `UnrecordedAllocations.takeUp`
   */
  #loadPart(job: OwnedJob, stored: StoredJob, waiting: readonly LiveAllocation[] | null): boolean {
    const isToStop = job.record.desired === 'stop';
    if (!isToStop && (waiting === null || stored.unreadable !== null || job.hasGangs)) return false;
    job.partlyLoaded = true;
    job.unrecorded = isToStop || waiting === null ? [] : waiting;
    this.#loaded(job, stored);
    return true;
  }

  /** Until the job has to be read again: an unrecorded allocation may be recorded now, or the job's record has changed. */
  async #untilRecordable(job: OwnedJob): Promise<void> {
    const { world, signal } = this.#term;
    try {
      while (!job.stale && !job.dropped && !signal.aborted) {
        await sleep(world.clock, UNRECORDED_AGAIN_MS, signal);
        if ((await this.#parts.unrecorded?.tryAgain(job)) !== false) return;
      }
    } finally {
      job.stale = true;
    }
  }

  /** Reports of an earlier owner's placements were not kept. Those that are not learnt are asked of their hosts. */
  async #learn(job: OwnedJob, { allocations }: StoredJob): Promise<void> {
    const { reports, unrecorded } = this.#parts;
    const isNew = allocations.some(
      ({ allocation: { id, host } }) => !job.entries.has(id) && reports.get(host, id) === undefined,
    );
    if (isNew && unrecorded === null) await reports.learn(job.key);
  }

  /**
   * Reserved members count as allocations only when their intent is gone: intents that were left open are ended first, and
   * then the job is read again.
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
    // An old answer, or the intents were not read: one of the members may belong to an intent that was written since.
    await sleep(this.#term.world.clock, LOAD_RETRY_MS, this.#term.signal);
    return false;
  }

  /**
   * Are all gangs by intent decided that preempt allocations of the job? Until then it is unknown whether these are to stop or
   * to run on, and their records may not be changed here. An abandoned gang takes its marks back first.
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
    job.rollout = stored.rollout ?? job.rollout;
    for (const [version, spec] of stored.versions) job.keepVersion(version, spec);
    job.stale = false;
    this.#parts.reports.hostsChanged();
    this.#term.enqueue(job);
  }

  #loadedAllocation(job: OwnedJob, allocation: Entry['allocation'], revision: number): void {
    const { table, intents, reports, starter } = this.#parts;
    // Only reserved: `commit/commit.ts` says when it is effective.
    if (allocation.intent !== undefined && intents.holds(allocation.intent)) return;
    const known = job.entries.get(allocation.id);
    if (known !== undefined) {
      if (known.revision === 0) return;
      // The list may be older than a preemption of this scheduler that marked the allocation.
      if (revision >= known.revision) [known.allocation, known.revision] = [allocation, revision];
      if (known.needsVerify) void starter.verify(job, known);
      known.needsVerify = false;
      return;
    }
    const entry = new Entry(allocation, revision, 'verify');
    job.entries.set(allocation.id, entry);
    table.index(job, entry);
    const report = reports.get(allocation.host, allocation.id);
    if (report !== undefined) this.#term.report(report);
    if (entry.stage === 'verify') void starter.verify(job, entry);
    // Its scheduler may have died before it ordered the victims to stop.
    const waits = OBSERVED_RANK[entry.report?.state ?? 'assigned'] < OBSERVED_RANK.running;
    if (allocation.desired === 'run' && waits) starter.stopVictims(allocation, job);
  }
}
