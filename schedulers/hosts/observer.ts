import { evictedBy } from '../../src/core/commit/pending-preemption.ts';
import { jobKeyOf } from '../../src/core/cell/ids.ts';
import { outcomeOf } from '../../src/core/slots/outcomes.ts';
import type { Eviction } from '../../src/core/commit/plan.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { isTerminal, OBSERVED_RANK } from '../../src/core/host/states.ts';
import type { Term } from '../state/state.ts';
import type { JobBook } from '../state/job-table.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import type { Releaser } from '../commit/releaser.ts';

/** What others say of our allocations: their hosts, and whoever makes them give way. */
export class Observer {
  readonly #term: Term;
  readonly #book: JobBook;
  readonly #releaser: Releaser;
  readonly #mayStray: boolean;

  /** @param mayStray the store was restored: hosts may know of allocations that it does not */
  constructor(term: Term, book: JobBook, releaser: Releaser, mayStray: boolean) {
    this.#mayStray = mayStray;
    this.#term = term;
    this.#book = book;
    this.#releaser = releaser;
  }

  report(report: AllocationReport): void {
    const found = this.#book.entry(report.id);
    if (found === undefined) {
      if (this.#mayStray) this.#stray(report);
      return;
    }
    if (found.entry.allocation.host !== report.host) return;
    const { job, entry } = found;
    const before = entry.report;
    if (before?.released === true && !report.released) return;
    if (before !== null && OBSERVED_RANK[report.state] < OBSERVED_RANK[before.state]) return;
    entry.report = report;
    if (entry.revision > 0) entry.stage = 'started';
    if (report.released && isTerminal(report.state)) this.#released(job, entry, report);
    // Only a service looks at whether its allocations run; a batch job waits for their ends.
    else if (before?.state !== report.state && job.record.job.type !== 'batch') this.#term.look(job);
  }

  /** Its host was not heard when the job was read. */
  #stray(report: AllocationReport): void {
    const job = this.#book.get(jobKeyOf(report.namespace, report.job));
    if (job !== undefined && !report.released) this.#term.reload(job);
  }

  /** The commit that makes the victim give way is durable. */
  evicted(eviction: Eviction, revision: number): void {
    const found = this.#book.entry(eviction.victim.id);
    if (found === undefined || found.entry.revision === 0) return;
    found.entry.allocation = evictedBy(eviction);
    found.entry.revision = Math.max(found.entry.revision, revision);
    this.#term.say('stopping', found.job, eviction.cause, found.entry);
    this.#term.look(found.job);
  }

  #released(job: OwnedJob, entry: Entry, report: AllocationReport): void {
    // A record being rewritten has a revision that nobody knows yet; the look that follows finds the report.
    if (entry.revision === 0 || entry.marking || job.stale) return;
    const nowMs = Math.floor(this.#term.world.clock.nowMs());
    this.#releaser.release(job, entry, outcomeOf(entry.allocation, report, nowMs));
  }
}
