import { askOf } from '../../src/core/cell/ask.ts';
import type { Evaluation } from '../../src/core/slots/job-view.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { DecisionLoop } from '../decide/decision-loop.ts';
import type { Parking } from '../decide/parking.ts';
import type { Reports } from '../hosts/reports.ts';
import type { JobTable } from '../state/job-table.ts';
import { OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import { idsOf } from '../state/state.ts';
import type { JobIntake } from './job-intake.ts';
import type { JobAtRevision } from './job-index.ts';
import type { Ownership } from './ownership.ts';

/** Before the owner key of a finished job is given up again, after a fault of the store. */
const FINISH_RETRY_MS = 1_000;

export interface OwnedJobsParts {
  readonly table: JobTable;
  readonly intake: JobIntake;
  readonly loop: Pick<DecisionLoop, 'remove'>;
  readonly parking: Parking;
  readonly reports: Pick<Reports, 'drop'>;
  /** As the ownership's, which is made after this. */
  readonly giveUp: Ownership['finish'];
}

/** What follows in the term when an owned job comes, changes or goes. */
export class OwnedJobs {
  readonly #term: Term;
  readonly #parts: OwnedJobsParts;

  constructor(term: Term, parts: OwnedJobsParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /**
   * This scheduler owns the job from now on.
   * @param isBare the store holds nothing of it but its record, and what it was claimed with
   * @param placed the job with that; absent: nothing
   */
  own(row: JobAtRevision, ownerRevision: number, isBare: boolean, placed?: OwnedJob): void {
    const { table, intake } = this.#parts;
    const job = placed ?? new OwnedJob(row.value, row.modRevision, ownerRevision);
    placed?.claimed(ownerRevision);
    table.add(job);
    for (const entry of job.entries.values()) table.index(job, entry);
    this.#learnMix(job);
    this.#term.emit('owned', job, `version ${String(job.record.version)}`);
    if (!isBare || !intake.takeUpBare(job)) this.#term.reload(job);
  }

  /** Its record changed; undefined: it was deleted, which ends the job. */
  changed(key: string, row: JobAtRevision | undefined): void {
    const job = this.#parts.table.get(key);
    if (job === undefined) return;
    const before = job.record.version;
    job.keepVersion(before, job.record.job);
    job.record = row === undefined ? { ...job.record, desired: 'stop' } : row.value;
    if (job.record.version !== before) this.#learnMix(job);
    job.recordRevision = row?.modRevision ?? 0;
    // Unrecorded allocations may have to stop with it, or fill its slots from now on.
    if (job.partlyLoaded) job.stale = true;
    // What was tried for the old spec says nothing about the new one.
    job.groups.clear();
    this.#parts.parking.leave(job);
    this.#term.enqueue(job);
  }

  drop(key: string): void {
    const { table, loop, parking, reports } = this.#parts;
    const job = table.get(key);
    if (job === undefined) return;
    job.dropped = true;
    job.cancelTimer();
    loop.remove(key);
    parking.leave(job);
    for (const entry of job.entries.values())
      if (entry.revision === 0) this.#term.cell.state.forget(entry.allocation);
    table.remove(job);
    reports.drop(key);
  }

  dropAll(): void {
    for (const { key } of [...this.#parts.table.jobs()]) this.drop(key);
  }

  /** Nothing is left to do for it: gives up the owner key, or has the job decided again. */
  async finish(job: OwnedJob, as: NonNullable<Evaluation['finished']>): Promise<void> {
    if (job.finishing || job.failing || job.partlyLoaded) return;
    job.finishing = true;
    try {
      if (await this.#parts.giveUp(job.key, job.recordRevision)) {
        this.#term.emit('finished', job, as);
        return;
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#term.world.log.warn({ ...idsOf(job), error }, 'cannot delete the owner key of a finished job');
    }
    job.finishing = false;
    if (!job.dropped) this.#term.enqueueAfter(job, FINISH_RETRY_MS);
  }

  /** Tasks like the job's are expected to come again. */
  #learnMix({ record: { job } }: OwnedJob): void {
    const { learnedMix } = this.#term.options;
    if (learnedMix === null) return;
    for (const group of Object.values(job.groups)) {
      const { resources, gpu } = askOf(group);
      learnedMix.observe(resources.cpuMilli, gpu, group.count);
    }
  }
}
