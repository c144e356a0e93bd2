import { askOf } from '../../src/core/cell/ask.ts';
import type { Evaluation } from '../../src/core/slots/job-view.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { Term } from '../state/state.ts';
import type { DecisionLoop } from '../decide/decision-loop.ts';
import type { JobBook } from '../state/job-table.ts';
import type { JobIntake } from './job-intake.ts';
import { OwnedJob } from '../state/owned-job.ts';
import type { OwnedRecord, Ownership } from './ownership.ts';
import type { Parking } from '../decide/parking.ts';
import type { Reports } from '../hosts/reports.ts';

/** A store that did not let us give up a finished job is asked again after this. */
const FINISH_RETRY_MS = 1_000;

export interface OwnedJobsParts {
  readonly book: JobBook;
  readonly intake: JobIntake;
  readonly loop: Pick<DecisionLoop, 'remove'>;
  readonly parking: Parking;
  readonly reports: Pick<Reports, 'drop'>;
  /** As the ownership's, which is made after this. */
  readonly giveUp: Ownership['finish'];
}

/** The jobs that we own, as they come, change and go: what else in the term must hear of it, hears of it here. */
export class OwnedJobs {
  readonly #term: Term;
  readonly #parts: OwnedJobsParts;

  constructor(term: Term, parts: OwnedJobsParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /** The job is ours. `isBare`: the store holds nothing of it but its record. */
  own(row: OwnedRecord, ownerRevision: number, isBare: boolean): void {
    const { book, intake } = this.#parts;
    const job = new OwnedJob(row.value, row.modRevision, ownerRevision);
    book.add(job);
    this.#expectMore(job);
    this.#term.say('owned', job, `version ${String(job.record.version)}`);
    if (!isBare || !intake.takeUpBare(job)) this.#term.reload(job);
  }

  /** Somebody has written its record; undefined: it was deleted, which ends the job. */
  changed(key: string, row: OwnedRecord | undefined): void {
    const job = this.#parts.book.get(key);
    if (job === undefined) return;
    const before = job.record.version;
    job.keepVersion(before, job.record.job);
    job.record = row === undefined ? { ...job.record, desired: 'stop' } : row.value;
    if (job.record.version !== before) this.#expectMore(job);
    job.recordRevision = row?.modRevision ?? 0;
    // What waits for its room is to stop with it, or fills its slots from now on.
    if (job.inPart) job.stale = true;
    // What was tried for the old spec says nothing about the new one.
    job.groups.clear();
    this.#parts.parking.leave(job);
    this.#term.look(job);
  }

  /** The job is ours no more, whyever. */
  drop(key: string): void {
    const { book, loop, parking, reports } = this.#parts;
    const job = book.get(key);
    if (job === undefined) return;
    job.dropped = true;
    job.cancelTimer();
    loop.remove(key);
    parking.leave(job);
    for (const entry of job.entries.values())
      if (entry.revision === 0) this.#term.cell.state.forget(entry.allocation);
    book.remove(job);
    reports.drop(key);
  }

  dropAll(): void {
    for (const { key } of [...this.#parts.book.jobs()]) this.drop(key);
  }

  /** Nothing is left to do for it: gives it up, or has it looked at again. */
  async finish(job: OwnedJob, as: NonNullable<Evaluation['finished']>): Promise<void> {
    if (job.finishing || job.failing || job.inPart) return;
    job.finishing = true;
    try {
      if (await this.#parts.giveUp(job.key, job.recordRevision)) {
        this.#term.say('finished', job, as);
        return;
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#term.world.log.warn({ job: job.key, error }, 'cannot give up a finished job');
    }
    job.finishing = false;
    if (!job.dropped) this.#term.lookAfter(job, FINISH_RETRY_MS);
  }

  /** Tasks like the job's are expected to come again. */
  #expectMore({ record: { job } }: OwnedJob): void {
    const { learnedMix } = this.#term.options;
    if (learnedMix === null) return;
    for (const group of Object.values(job.groups)) {
      const { resources, gpu } = askOf(group);
      learnedMix.observe(resources.cpuMilli, gpu, group.count);
    }
  }
}
