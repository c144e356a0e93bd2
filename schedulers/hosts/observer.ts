import { evictedBy } from '../../src/core/commit/pending-preemption.ts';
import { jobKeyOf } from '../../src/core/cell/ids.ts';
import { outcomeOf } from '../../src/core/slots/outcomes.ts';
import { isUp } from '../../src/core/slots/rollout.ts';
import type { Eviction } from '../../src/core/commit/plan.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { isTerminal, OBSERVED_RANK } from '../../src/core/host/states.ts';
import type { Releaser } from '../commit/releaser.ts';
import type { JobTable } from '../state/job-table.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import { wallMs } from '../state/state.ts';

export interface ObserverParts {
  readonly table: JobTable;
  readonly releaser: Pick<Releaser, 'release'>;
  /** The store was restored: hosts may run allocations without a record. */
  readonly isRestored: boolean;
  /** Has the job decided on, soon, since one of its allocations is to make room. */
  readonly victimMarked: (job: OwnedJob) => void;
}

/** Takes what is observed of owned allocations: reports of their hosts, and preemptions that became durable. */
export class Observer {
  readonly #term: Term;
  readonly #parts: ObserverParts;

  constructor(term: Term, parts: ObserverParts) {
    this.#term = term;
    this.#parts = parts;
  }

  report(report: AllocationReport): void {
    const found = this.#parts.table.entry(report.id);
    if (found === undefined) {
      if (this.#parts.isRestored) this.#unrecorded(report);
      return;
    }
    if (found.entry.allocation.host !== report.host) return;
    const { job, entry } = found;
    const before = entry.report;
    if (before?.released === true && !report.released) return;
    if (before !== null && OBSERVED_RANK[report.state] < OBSERVED_RANK[before.state]) return;
    entry.report = report;
    const changed = this.#countUp(entry, before, report);
    if (entry.revision > 0) entry.stage = 'started';
    if (report.released && isTerminal(report.state)) this.#released(job, entry, report);
    // Decisions for a service depend on whether its allocations run; a batch job waits for their ends.
    else if (changed && job.record.job.type !== 'batch') this.#term.enqueue(job);
  }

  /** @returns whether it began or ceased to run, or was restarted */
  #countUp(entry: Entry, before: AllocationReport | null, report: AllocationReport): boolean {
    const wasUp = before !== null && isUp(before);
    const isNowUp = isUp(report);
    const isSame = before?.state === report.state && before.restarts === report.restarts;
    if (!isNowUp) entry.upSinceMs = null;
    else if (!wasUp || !isSame) entry.upSinceMs = this.#term.world.clock.monotonicMs();
    return !isSame || wasUp !== isNowUp;
  }

  /** Its host was silent when the job was read. */
  #unrecorded(report: AllocationReport): void {
    const job = this.#parts.table.get(jobKeyOf(report.namespace, report.job));
    if (job !== undefined && !report.released) this.#term.reload(job);
  }

  /** The commit that preempts the victim is durable. */
  victimMarked(eviction: Eviction, revision: number): void {
    const found = this.#parts.table.entry(eviction.victim.id);
    if (found === undefined || found.entry.revision === 0) return;
    found.entry.allocation = evictedBy(eviction);
    found.entry.revision = Math.max(found.entry.revision, revision);
    this.#term.emit('stopping', found.job, eviction.cause, found.entry);
    this.#parts.victimMarked(found.job);
  }

  /** Its record is another one than is known here, if nothing is under way for it: its job is read again. */
  victimChanged({ victim, victimRevision }: Eviction): void {
    const found = this.#parts.table.entry(victim.id);
    if (found === undefined || found.entry.marking || found.entry.releasing) return;
    if (found.entry.revision === victimRevision) this.#term.reload(found.job);
  }

  #released(job: OwnedJob, entry: Entry, report: AllocationReport): void {
    // The revision of a record that is being rewritten is not known yet; the decision after that finds the report.
    if (entry.revision === 0 || entry.marking || job.stale) return;
    this.#parts.releaser.release(job, entry, outcomeOf(entry.allocation, report, wallMs(this.#term.world)));
  }
}
