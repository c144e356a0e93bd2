import { errorText } from '../../src/core/errors/errors.ts';
import type { JobRecord } from '../../src/core/cell/job.ts';
import { Backoff } from '../../src/runtime/wait/backoff.ts';
import { backOffGroup } from '../state/group-backoff.ts';
import type { OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import { undoAssumed } from '../state/state.ts';

const RETRY = { firstMs: 2_000, maxMs: 60_000 };
/** So many jobs at once have nothing in common but this process: its own state is wrong, and a new process reads it anew. */
const JOBS_MAX = 4;

interface Failure {
  /** What was decided on; another version is tried at once. */
  readonly record: JobRecord;
  readonly backoff: Backoff;
  readonly untilMs: number;
}

/**
 * Jobs on which deciding throws. Each waits, with the error as its reason, and the others go on: a job that ended its scheduler
 * would end the next one that takes it.
 */
export class FailedDecisions {
  readonly #term: Term;
  readonly #failures = new Map<string, Failure>();

  constructor(term: Term) {
    this.#term = term;
  }

  /** Is the job not to be decided on now? */
  waits(job: OwnedJob): boolean {
    const failure = this.#failures.get(job.key);
    if (failure?.record !== job.record) return false;
    const leftMs = failure.untilMs - this.#term.world.clock.monotonicMs();
    if (leftMs > 0) this.#term.enqueueAfter(job, leftMs);
    return leftMs > 0;
  }

  succeeded(job: OwnedJob): void {
    if (job.undecidable === null) return;
    job.undecidable = null;
    this.#failures.delete(job.key);
  }

  /**
   * Takes back what the decision has assumed, and lets the job wait.
   * @param entriesBefore how many the job had before
   * @throws the error, when it is one of many
   */
  failed(job: OwnedJob, error: unknown, entriesBefore: number): void {
    const { world } = this.#term;
    world.metrics.count('moorage_scheduler_decisions_failed_total');
    world.log.error({ job: job.name, namespace: job.namespace, error }, 'deciding failed; the job waits');
    // A decision drops no entry, so those that it made are the last ones.
    for (const entry of [...job.entries.values()].slice(entriesBefore)) undoAssumed(this.#term, job, entry);
    const backoff = this.#failures.get(job.key)?.backoff ?? new Backoff(RETRY, world.random);
    const delayMs = backoff.nextMs();
    const untilMs = world.clock.monotonicMs() + delayMs;
    this.#failures.set(job.key, { record: job.record, backoff, untilMs });
    const why = `deciding on it failed: ${errorText(error)}`;
    job.undecidable = why;
    for (const group of Object.keys(job.record.job.groups))
      backOffGroup(this.#term, job, group, why, delayMs);
    this.#term.emit('parked', job, why);
    this.#term.enqueueAfter(job, delayMs);
    if (this.#atOnce() > JOBS_MAX) throw error;
  }

  /** Jobs that wait for that reason, or did so lately: of those that are gone or moved to another owner nothing more is heard. */
  #atOnce(): number {
    const nowMs = this.#term.world.clock.monotonicMs();
    for (const [key, { untilMs }] of this.#failures)
      if (nowMs - untilMs > RETRY.maxMs) this.#failures.delete(key);
    return this.#failures.size;
  }
}
