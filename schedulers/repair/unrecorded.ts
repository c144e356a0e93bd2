import type { Allocation, Outcome } from '../../src/core/cell/allocation.ts';
import { planOfAdopted } from '../../src/core/cell/allocation.ts';
import { makeId } from '../../src/core/cell/ids.ts';
import { forgottenOutcome, outcomeOf } from '../../src/core/slots/outcomes.ts';
import type { Release } from '../../src/core/commit/plan.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { LiveAllocation } from '../../src/core/slots/job-view.ts';
import { CAUSES } from '../../src/core/slots/job-view.ts';
import { isTerminal } from '../../src/core/host/states.ts';
import { claimOf } from '../../src/core/quota/ticket.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { HttpError } from '../../src/ports/http.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { allocationCodec, outcomeCodec } from '../../src/wire/records/records.ts';
import type { Term } from '../state/state.ts';
import type { StoredJob } from '../ownership/job-loader.ts';
import type { OwnedJob } from '../state/owned-job.ts';
import type { Reports } from '../hosts/reports.ts';

/** Records in one transaction, under the store's floor of 128 operations. */
const WRITES_MAX = 50;
/** Until a monitor is asked again that was not there, or did not know enough. */
const LEARN_AGAIN_MS = 500;
const BEFORE_RESTORE = 'stopped before the store was restored';
const TWICE = 'its slot was filled again before its host was heard';

/**
 * After the store was restored from a snapshot, or made anew (`restoredAtMs`), hosts know of allocations that it does not.
 * Before anything is decided for a job, they are taken up: what is still there comes back under its own id, with its
 * claim; what has ended leaves its outcome, so that it is not begun again (I53, I54). Reports say where to look; what is
 * written is what the host itself answers now.
 */
export class Strays {
  readonly #term: Term;
  readonly #reports: Pick<Reports, 'learn' | 'ofJob'>;

  constructor(term: Term, reports: Pick<Reports, 'learn' | 'ofJob'>) {
    this.#term = term;
    this.#reports = reports;
  }

  /**
   * @returns what runs on without a record, as others have its room, when that is all that the store lacks; null: something was
   *     written or could not be, read it again
   * @throws StoreError
   */
  async takeUp(job: OwnedJob, stored: StoredJob): Promise<readonly LiveAllocation[] | null> {
    const known = new Set([
      ...job.entries.keys(),
      ...stored.allocations.map(({ allocation }) => allocation.id),
      ...stored.outcomes.map(({ allocation }) => allocation),
    ]);
    if (!(await this.#reports.learn(job.key))) {
      // What was read is old by the time somebody knows.
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
      else if (now === 'nobody') continue;
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
   * What waits for its room, once more.
   * @returns false: all of it does still
   * @throws StoreError
   */
  async tryAgain(job: OwnedJob): Promise<boolean> {
    for (const { allocation } of job.unrecorded) {
      const now = await this.#ask(allocation);
      if (now === 'unknown') continue;
      if (now === 'nobody' || now === null || isTerminal(now.state) || job.stale || job.dropped) return true;
      if ((await this.#bringBack(job, allocation)) !== 'no-room') return true;
    }
    return false;
  }

  async #untilLearnt(job: OwnedJob): Promise<void> {
    const { signal, world } = this.#term;
    do await sleep(world.clock, LEARN_AGAIN_MS, signal);
    while (!job.dropped && !signal.aborted && !(await this.#reports.learn(job.key)));
  }

  /** @returns null: its host knows nothing of it; `nobody`: nobody waits for its host; `unknown`: it did not say */
  async #ask({ host, id }: Pick<Allocation, 'host' | 'id'>): Promise<Word> {
    const { cell, hostCalls, hosts } = this.#term;
    if (cell.state.hostOf(host) === undefined || cell.standing(host).state === 'lost') return 'nobody';
    try {
      const report = await hostCalls.askFirst(
        host,
        () => true,
        (address) => hosts.get(address, id),
      );
      return report === undefined ? 'unknown' : report;
    } catch (error) {
      if (!(error instanceof HttpError) && !(error instanceof ProblemError)) throw error;
      return 'unknown';
    }
  }

  /** Outcomes older than those of the slot were dropped as surplus, and are no loss. */
  #endOf(job: OwnedJob, report: AllocationReport, stored: StoredJob): readonly Outcome[] {
    const isOld = stored.outcomes.some(
      (known) => isSameSlot(known, report) && known.attempt > report.attempt,
    );
    const nowMs = Math.floor(this.#term.world.clock.nowMs());
    const outcome = isOld
      ? null
      : outcomeOf(this.#allocationOf(job, report, wish(job, report, stored)), report, nowMs);
    return outcome === null ? [] : [outcome];
  }

  /**
   * Records that the restored store holds and that are over: they may hold the very room of what came after them, and a
   * later attempt of their slot runs. @returns true: something was written
   */
  async #settle(job: OwnedJob, stored: StoredJob, living: readonly AllocationReport[]): Promise<boolean> {
    const releases: Release[] = [];
    const stops: StoredJob['allocations'][number][] = [];
    const nowMs = Math.floor(this.#term.world.clock.nowMs());
    for (const row of stored.allocations) {
      const { allocation, revision } = row;
      const word = await this.#ask(allocation);
      const isOvertaken = living.some(
        (report) => isSameSlot(report, allocation) && report.attempt > allocation.attempt,
      );
      if (word === 'unknown' || word === 'nobody') continue;
      if (word === null) {
        const over: Allocation = { ...allocation, desired: 'stop', cause: BEFORE_RESTORE };
        if (isOvertaken)
          releases.push({ allocation, revision, outcome: forgottenOutcome(over, 'host-forgot', nowMs) });
      } else if (word.released && isTerminal(word.state)) {
        releases.push({ allocation, revision, outcome: outcomeOf(allocation, word, nowMs) });
      } else if (isOvertaken && allocation.desired === 'run') stops.push(row);
    }
    if (stops.length > 0) await this.#stop(job, stops);
    const plan = { id: this.#newId(), atomicity: 'incremental', evictions: [], places: [] } as const;
    if (releases.length > 0) await this.#term.commit({ ...plan, releases });
    return stops.length + releases.length > 0;
  }

  async #writeEnds(job: OwnedJob, ended: readonly Outcome[]): Promise<void> {
    for (let at = 0; at < ended.length; at += WRITES_MAX) {
      const writes = ended.slice(at, at + WRITES_MAX).map((outcome) => ({
        kind: 'put' as const,
        key: this.#term.world.keys.outcome(outcome.namespace, outcome.job, outcome.allocation),
        value: outcomeCodec.encode(outcome),
      }));
      await this.#write(
        job,
        writes,
        writes.map(({ key }) => ({ key, target: 'createRevision', equals: 0 })),
      );
    }
  }

  async #stop(job: OwnedJob, rows: StoredJob['allocations']): Promise<void> {
    for (let at = 0; at < rows.length; at += WRITES_MAX) {
      const some = rows.slice(at, at + WRITES_MAX).map(({ allocation, revision }) => ({
        key: this.#term.world.keys.allocation(job.namespace, job.name, allocation.id),
        value: allocationCodec.encode({ ...allocation, desired: 'stop', cause: BEFORE_RESTORE }),
        revision,
      }));
      await this.#write(
        job,
        some.map(({ key, value }) => ({ kind: 'put', key, value })),
        some.map(({ key, revision }) => ({ key, target: 'modRevision', equals: revision })),
      );
    }
  }

  async #write(
    job: OwnedJob,
    writes: Parameters<Term['world']['store']['attempt']>[0]['writes'],
    compares: Parameters<Term['world']['store']['attempt']>[0]['compares'],
  ): Promise<void> {
    if (this.#term.signal.aborted) return;
    const { store, keys } = this.#term.world;
    const owner = keys.owner(job.namespace, job.name);
    const isOurs = { key: owner, target: 'createRevision', equals: job.ownerRevision } as const;
    // Whatever becomes of it, the job is read again.
    await store.attempt({ compares: [isOurs, ...compares], writes, readBack: [] });
  }

  /**
   * What still is on its host comes back, each by itself: one whose place was given away meanwhile waits until it is free, unless
   * its job is to stop. @returns those that wait
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
      const came = await this.#bringBack(job, allocation);
      if (came === 'no-room') waiting.push({ allocation, report: living[n] ?? null });
    }
    return waiting;
  }

  /** Writes its record with its claim. Where others have its room and it is to stop, its host is told. */
  async #bringBack(job: OwnedJob, allocation: Allocation): Promise<'no-room' | 'read-again'> {
    const plan = { atomicity: 'incremental', evictions: [], releases: [] } as const;
    const outcomes = await this.#term.commit({ ...plan, id: this.#newId(), places: [allocation] });
    const outcome = outcomes.get(allocation.id);
    if (outcome?.kind !== 'conflicted' || outcome.why.reason !== 'no-fit') return 'read-again';
    await this.#stopUnrecorded(job, allocation);
    return 'no-room';
  }

  /**
   * Nothing can say in the store that it is to stop, as there is no room for its record. The record of its job says so, or that of
   * whoever has its slot now: a successor reads the same. The host saves the answer, so that the order may be given again. What
   * comes of it is seen when the host is asked the next time.
   */
  async #stopUnrecorded(job: OwnedJob, { host, id, desired, cause }: Allocation): Promise<void> {
    const { cell, hostCalls, hosts, incarnation } = this.#term;
    const isWanted = (): boolean => !job.dropped && (job.record.desired === 'stop' || desired === 'stop');
    if (!isWanted()) return;
    await hostCalls.order(host, isWanted, (address) =>
      hosts.stop(address, id, {
        commandId: `${id}-stop`,
        epoch: { incarnation, counter: cell.book.get(host).ledger.counter },
        mode: 'stop',
        cause: cause ?? CAUSES.user,
      }),
    );
  }

  #newId(): string {
    const { clock, random } = this.#term.world;
    return makeId(Math.floor(clock.nowMs()), random.bytes(16));
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
      createdAtMs: report.startedAtMs ?? Math.floor(world.clock.nowMs()),
    };
  }
}

/** Who was ended by an order that no record tells of was ended as its job was to stop, or its slot filled again, and is no failure. */
function wish({ record }: OwnedJob, report: AllocationReport, stored: StoredJob): 'run' | 'stop' {
  const isUnwanted = record.desired === 'stop' || isFilled(report, stored);
  return isUnwanted && report.state === 'killed' ? 'stop' : 'run';
}

/** Another one that the store knows of should run in its slot. */
function isFilled(report: AllocationReport, { allocations }: StoredJob): boolean {
  return allocations.some(({ allocation }) => allocation.desired === 'run' && isSameSlot(report, allocation));
}

/** Of several of one slot only the newest may go on (I12). */
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

type Word = AllocationReport | null | 'unknown' | 'nobody';

type SlotName = Pick<Allocation, 'group' | 'index'>;
