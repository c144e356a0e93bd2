import type { Allocation, Outcome } from '../../src/core/cell/allocation.ts';
import { planOfAdopted } from '../../src/core/cell/allocation.ts';
import { forgottenOutcome, outcomeOf } from '../../src/core/slots/outcomes.ts';
import type { Release } from '../../src/core/commit/plan.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { LiveAllocation } from '../../src/core/slots/job-view.ts';
import { CAUSES } from '../../src/core/slots/job-view.ts';
import { isTerminal } from '../../src/core/host/states.ts';
import { claimOf } from '../../src/core/quota/ticket.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { orderStop, readFromHost } from '../hosts/hosts.ts';
import type { Reports } from '../hosts/reports.ts';
import type { OwnedJob } from '../state/owned-job.ts';
import { createOutcomesAsOwner, rewriteAsOwner } from '../state/owner-write.ts';
import type { Term } from '../state/state.ts';
import { newId, wallMs } from '../state/state.ts';
import type { StoredJob } from '../state/stored-job.ts';

/** Records in one transaction, under the store's floor of 128 operations. */
const WRITES_MAX = 50;
/** Before a monitor is asked again that did not answer, or did not know enough. */
const LEARN_AGAIN_MS = 500;
const BEFORE_RESTORE = 'stopped before the store was restored';
const TWICE = 'its slot was filled again before its host reported';

/** What the host itself says now of an allocation. */
type HostAnswer =
  | AllocationReport
  /** The host has no record of it. */
  | null
  /** The host did not answer. */
  | 'unknown'
  /** The host is lost or not registered: its answer is not awaited. */
  | 'lost';

/**
 * Allocations that hosts know and the store does not, after the store was restored from a snapshot or made anew
 * (`restoredAtMs`). They are taken up before anything is decided for a job: one that still runs gets its record back, under
 * its own id and with its claim; one that has ended leaves its outcome, so that it is not run again (I53, I54). Reports say
 * where to look; what is written is what the host itself answers now.
 *
 * An allocation whose capacity was given away meanwhile stays unrecorded, fills its slot, and is tried again until its
 * capacity is free; its job continues around it, unless it has gangs. See `docs/decisions/restore.md`.
 */
export class UnrecordedAllocations {
  readonly #term: Term;
  readonly #reports: Pick<Reports, 'learn' | 'ofJob'>;

  constructor(term: Term, reports: Pick<Reports, 'learn' | 'ofJob'>) {
    this.#term = term;
    this.#reports = reports;
  }

  /**
   * @returns allocations that stay unrecorded, as other claims hold their capacity, when these are all that the store lacks;
   *   null: something was written or could not be: the job is to be read again
   * @throws StoreError
   */
  async takeUp(job: OwnedJob, stored: StoredJob): Promise<readonly LiveAllocation[] | null> {
    const known = new Set([
      ...job.entries.keys(),
      ...stored.allocations.map(({ allocation }) => allocation.id),
      ...stored.outcomes.map(({ allocation }) => allocation),
    ]);
    if (!(await this.#reports.learn(job.key))) {
      // What was read is outdated by the time the reports are here.
      await this.#untilLearnt(job);
      return null;
    }
    const reports = [...this.#reports.ofJob(job.key)].filter(({ id }) => !known.has(id));
    if (reports.length === 0) return [];
    const living: AllocationReport[] = [];
    const ended: Outcome[] = [];
    let all = true;
    for (const report of reports) {
      const now = await this.#ask(report);
      if (now === 'unknown') all = false;
      else if (now === 'lost') continue;
      else if (now !== null && now.released && isTerminal(now.state))
        ended.push(...this.#endOf(job, now, stored));
      else if (now !== null) living.push(now);
    }
    if (ended.length > 0) await this.#writeEnds(job, ended);
    if (living.length > 0 && (await this.#settle(job, stored, living))) return null;
    const waiting = await this.#claim(job, living, stored);
    return all && ended.length === 0 && waiting.length === living.length ? waiting : null;
  }

  /**
   * Tries once more to record what is unrecorded.
   * @returns false: nothing has changed
   * @throws StoreError
   */
  async tryAgain(job: OwnedJob): Promise<boolean> {
    for (const { allocation } of job.unrecorded) {
      const now = await this.#ask(allocation);
      if (now === 'unknown') continue;
      if (now === 'lost' || now === null || isTerminal(now.state) || job.stale || job.dropped) return true;
      if ((await this.#record(job, allocation)) !== 'no-room') return true;
    }
    return false;
  }

  async #untilLearnt(job: OwnedJob): Promise<void> {
    const { signal, world } = this.#term;
    do await sleep(world.clock, LEARN_AGAIN_MS, signal);
    while (!job.dropped && !signal.aborted && !(await this.#reports.learn(job.key)));
  }

  async #ask(allocation: Pick<Allocation, 'host' | 'id'>): Promise<HostAnswer> {
    const { host } = allocation;
    const { cell } = this.#term;
    if (cell.state.hostOf(host) === undefined || cell.condition(host).state === 'lost') return 'lost';
    return await readFromHost(this.#term, allocation, () => true);
  }

  /** Outcomes older than those of the slot were dropped as surplus, and are no loss. */
  #endOf(job: OwnedJob, report: AllocationReport, stored: StoredJob): readonly Outcome[] {
    const isOld = stored.outcomes.some(
      (known) => isSameSlot(known, report) && known.attempt > report.attempt,
    );
    if (isOld) return [];
    const allocation = this.#allocationOf(job, report, desiredAtEnd(job, report, stored));
    const outcome = outcomeOf(allocation, report, wallMs(this.#term.world));
    return outcome === null ? [] : [outcome];
  }

  /**
   * Ends allocations of the restored store that are over: they may hold the very capacity of later ones, or a later attempt of
   * their slot runs. @returns true: something was written
   */
  async #settle(job: OwnedJob, stored: StoredJob, living: readonly AllocationReport[]): Promise<boolean> {
    const { world } = this.#term;
    const releases: Release[] = [];
    const stops: StoredJob['allocations'][number][] = [];
    const nowMs = wallMs(world);
    for (const row of stored.allocations) {
      const { allocation, revision } = row;
      const answer = await this.#ask(allocation);
      const isOvertaken = living.some(
        (report) => isSameSlot(report, allocation) && report.attempt > allocation.attempt,
      );
      if (answer === 'unknown' || answer === 'lost') continue;
      if (answer === null) {
        const over: Allocation = { ...allocation, desired: 'stop', cause: BEFORE_RESTORE };
        if (isOvertaken)
          releases.push({ allocation, revision, outcome: forgottenOutcome(over, 'host-forgot', nowMs) });
      } else if (answer.released && isTerminal(answer.state)) {
        releases.push({ allocation, revision, outcome: outcomeOf(allocation, answer, nowMs) });
      } else if (isOvertaken && allocation.desired === 'run') stops.push(row);
    }
    if (stops.length > 0) await this.#stop(job, stops);
    const plan = { id: newId(world), atomicity: 'incremental', evictions: [], places: [] } as const;
    if (releases.length > 0) await this.#term.commit({ ...plan, releases });
    return stops.length + releases.length > 0;
  }

  /** Whatever becomes of a write, the job is read again. */
  async #writeEnds(job: OwnedJob, ended: readonly Outcome[]): Promise<void> {
    for (let at = 0; at < ended.length && !this.#term.signal.aborted; at += WRITES_MAX)
      await createOutcomesAsOwner(this.#term.world, job, ended.slice(at, at + WRITES_MAX));
  }

  async #stop(job: OwnedJob, rows: StoredJob['allocations']): Promise<void> {
    const stopped = rows.map(({ allocation, revision }) => ({
      allocation: { ...allocation, desired: 'stop' as const, cause: BEFORE_RESTORE },
      revision,
    }));
    for (let at = 0; at < stopped.length && !this.#term.signal.aborted; at += WRITES_MAX)
      await rewriteAsOwner(this.#term.world, job, stopped.slice(at, at + WRITES_MAX));
  }

  /**
   * Records what still is on its host, each allocation by itself. One whose capacity was given away waits until it is free,
   * unless its job is to stop. @returns those that wait
   */
  async #claim(
    job: OwnedJob,
    living: readonly AllocationReport[],
    stored: StoredJob,
  ): Promise<readonly LiveAllocation[]> {
    const places = living.map((report) =>
      this.#allocationOf(job, report, isFilled(report, stored) ? 'stop' : 'run'),
    );
    const waiting: LiveAllocation[] = [];
    for (const [n, allocation] of newestRuns(places).entries()) {
      const result = await this.#record(job, allocation);
      if (result === 'no-room') waiting.push({ allocation, report: living[n] ?? null });
    }
    return waiting;
  }

  /** Commits its record with its claim. Where other claims hold its capacity and it is to stop, its host is ordered to stop it. */
  async #record(job: OwnedJob, allocation: Allocation): Promise<'no-room' | 'read-again'> {
    const plan = { atomicity: 'incremental', evictions: [], releases: [] } as const;
    const id = newId(this.#term.world);
    const outcomes = await this.#term.commit({ ...plan, id, places: [allocation] });
    const outcome = outcomes.get(allocation.id);
    if (outcome?.kind !== 'conflicted' || outcome.why.reason !== 'no-fit') return 'read-again';
    await this.#stopUnrecorded(job, allocation);
    return 'no-room';
  }

  /**
   * Without room for its record, the store cannot say that it is to stop. The record of its job says so, or the allocation that
   * fills its slot now: a successor reads the same. The host keeps the answer, so the order may be repeated. Its effect
   * is seen when the host is asked the next time.
   */
  async #stopUnrecorded(job: OwnedJob, { host, id, desired, cause }: Allocation): Promise<void> {
    const isWanted = (): boolean => !job.dropped && (job.record.desired === 'stop' || desired === 'stop');
    if (!isWanted()) return;
    const order = { commandId: `${id}-stop`, mode: 'stop', cause: cause ?? CAUSES.user } as const;
    await orderStop(this.#term, { host, id, counter: 0 }, order, isWanted);
  }

  #allocationOf(job: OwnedJob, report: AllocationReport, desired: 'run' | 'stop'): Allocation {
    const { group, index, attempt, scheduler, host, id } = report;
    const { cell, incarnation, options, world } = this.#term;
    const isStopping = report.state === 'stopping';
    const isWanted = desired === 'run' && !isStopping;
    const cause = job.record.desired === 'stop' ? CAUSES.user : isStopping ? BEFORE_RESTORE : TWICE;
    return {
      ...claimOf(report),
      ...{ group, index, attempt },
      ...{ namespace: job.namespace, job: job.name, jobVersion: report.jobVersion },
      scheduler: options.id,
      ...(isWanted ? { desired: 'run' } : { desired: 'stop', cause }),
      planId: planOfAdopted({ id, scheduler }),
      epoch: { incarnation, counter: cell.book.get(host).ledger.counter },
      createdAtMs: report.startedAtMs ?? wallMs(world),
    };
  }
}

/** An allocation that was killed without a record of the order ended because its job was to stop or its slot was filled again: no failure. */
function desiredAtEnd({ record }: OwnedJob, report: AllocationReport, stored: StoredJob): 'run' | 'stop' {
  const isUnwanted = record.desired === 'stop' || isFilled(report, stored);
  return isUnwanted && report.state === 'killed' ? 'stop' : 'run';
}

/** Does the store know of another allocation that should run in its slot? */
function isFilled(report: AllocationReport, { allocations }: StoredJob): boolean {
  return allocations.some(({ allocation }) => allocation.desired === 'run' && isSameSlot(report, allocation));
}

/** Of several allocations of one slot only the newest may run on (I12). */
function newestRuns(places: readonly Allocation[]): readonly Allocation[] {
  return places.map((place) => {
    const isOvertaken = places.some(
      (other) => other.desired === 'run' && isSameSlot(other, place) && isNewer(other, place),
    );
    return place.desired === 'run' && isOvertaken
      ? { ...place, desired: 'stop', cause: BEFORE_RESTORE }
      : place;
  });
}

function isNewer(a: Allocation, b: Allocation): boolean {
  return a.attempt > b.attempt || (a.attempt === b.attempt && a.id > b.id);
}

function isSameSlot(a: SlotName, b: SlotName): boolean {
  return a.group === b.group && a.index === b.index;
}

type SlotName = Pick<Allocation, 'group' | 'index'>;
