/**
 * Jobs as people see and change them.
 *
 * - `jobs.ts`: a job's status and how it ended, from the store and the reports
 * - `job-writes.ts`: submits and stops one job; `bulk-writes.ts`: submits many
 * - `traced-submit.ts`: where the trace of a job begins
 * - `job-changes.ts`: wakes requests that wait for a change of a job
 * - `versions.ts`: the versions of a job; `auto-revert.ts`: undoes an update that failed
 * - `moves.ts`: which allocations may be moved to other hosts, and are to be
 * - `why.ts`: asks the owner why a job waits
 * - `plans.ts`: asks schedulers what they would do if something changed; `plan-answer.ts`: what a caller may ask and see of it;
 *   `plan-quotas.ts`: the quotas that it goes beyond
 * - `usage.ts`: asks hosts what the allocations of a job use
 *
 * The phase of a job is decided by the schedulers' own rule (`src/core/slots/slots.ts`), with one exception: a batch job counts
 * as complete as soon as all its tasks completed, while the scheduler's rule waits until the last allocation is released.
 */
import type { Allocation, Outcome } from '../../src/core/cell/allocation.ts';
import { meets } from '../../src/core/host/attributes.ts';
import { slotName } from '../../src/core/cell/ids.ts';
import type { Group, JobRecord } from '../../src/core/cell/job.ts';
import { slotsMaxOf } from '../../src/core/cell/job.ts';
import type { Restarts } from '../../src/core/slots/restarts.ts';
import {
  joinRestarts,
  NO_RESTARTS,
  restartsOfEmptySlot,
  restartsOfSlot,
} from '../../src/core/slots/restarts.ts';
import { endedInPlace, isUp, notReadyOf } from '../../src/core/slots/rollout.ts';
import { evaluate } from '../../src/core/slots/slots.ts';
import { CAUSES } from '../../src/core/slots/job-view.ts';
import type { JobView, MatchingHost, Evaluation } from '../../src/core/slots/job-view.ts';
import { isTerminal } from '../../src/core/host/states.ts';
import type { CellView } from '../../src/runtime/reports/cell-view.ts';
import type {
  AllocationCounts,
  AllocationStatus,
  JobPhase,
  JobStatus,
  JobSummary,
  RunExit,
} from '../../src/wire/api/monitor-api.ts';
import type { RolloutStatus } from '../../src/wire/api/monitor-api.ts';
import type { CellCopy } from '../view/view.ts';

export class JobStatuses {
  readonly #copy: CellCopy;
  readonly #view: CellView;
  /** By job; dropped when anything about the job changes. */
  readonly #summaries = new Map<string, JobSummary>();
  /** Jobs that were found quiet; dropped likewise. */
  readonly #quiet = new Set<string>();

  constructor(copy: CellCopy, view: CellView) {
    this.#copy = copy;
    this.#view = view;
  }

  changed(jobKey: string): void {
    this.#summaries.delete(jobKey);
    this.#quiet.delete(jobKey);
  }

  changedAll(): void {
    this.#summaries.clear();
    this.#quiet.clear();
  }

  summary(jobKey: string): JobSummary | null {
    const known = this.#summaries.get(jobKey);
    if (known !== undefined) return known;
    const record = this.#copy.jobs.get(jobKey)?.value;
    if (record === undefined) return null;
    const made = this.#summarize(jobKey, record);
    this.#summaries.set(jobKey, made);
    return made;
  }

  /**
   * Is all that is wanted of the job placed, and did nothing of it end or start again? Costs a fraction of a summary, which most jobs
   * of a large cell need for nothing else.
   */
  isQuiet(jobKey: string): boolean {
    if (this.#quiet.has(jobKey)) return true;
    if (!this.#findQuiet(jobKey)) return false;
    this.#quiet.add(jobKey);
    return true;
  }

  #findQuiet(jobKey: string): boolean {
    const record = this.#copy.jobs.get(jobKey)?.value;
    if (record === undefined || record.desired !== 'run' || record.job.type === 'system') return false;
    if (this.#copy.outcomesByJob.of(jobKey).size > 0) return false;
    let placed = 0;
    for (const { host, id } of this.#copy.allocationsOf(jobKey)) {
      if ((this.#view.get(host, id)?.restarts ?? 0) > 0) return false;
      placed += 1;
    }
    return placed >= sumOf(record, ({ count }) => count);
  }

  status(jobKey: string): JobStatus | null {
    const record = this.#copy.jobs.get(jobKey)?.value;
    const summary = this.summary(jobKey);
    if (record === undefined || summary === null) return null;
    const outcomes = this.#outcomes(jobKey);
    outcomes.sort((a, b) => a.endedAtMs - b.endedAtMs || a.attempt - b.attempt);
    const rollout = this.#rolloutOf(jobKey, record);
    return { summary, record, allocations: this.allocations(jobKey), outcomes, rollout };
  }

  allocations(jobKey: string): AllocationStatus[] {
    const ends = this.#endsBySlot(jobKey);
    const found = [...this.#copy.allocationsOf(jobKey)].map((allocation) =>
      this.#allocationStatus(allocation, ends.get(slotOf(allocation)) ?? []),
    );
    return found.sort((a, b) => bySlot(a.allocation, b.allocation));
  }

  #allocationStatus(allocation: Allocation, ends: readonly Outcome[]): AllocationStatus {
    const freshness = this.#view.host(allocation.host);
    const report = this.#view.get(allocation.host, allocation.id) ?? null;
    return {
      name: slotName(allocation.job, allocation.group, allocation.index),
      allocation,
      report,
      restarts: restartsOfSlot({ allocation, report }, ends),
      asOfMs: freshness?.asOfMs ?? null,
      stale: freshness === undefined || freshness.staleSinceMs !== null,
    };
  }

  /** How the job ended; null while it has not. */
  exit(jobKey: string): RunExit | null {
    const summary = this.summary(jobKey);
    if (summary === null || summary.phase === 'pending' || summary.phase === 'running') return null;
    const ended = [
      ...this.#outcomes(jobKey).map((outcome) => ({ ...outcome, id: outcome.allocation })),
      ...this.#reports(jobKey).filter((report) => isTerminal(report.state)),
    ].sort((a, b) => (a.endedAtMs ?? 0) - (b.endedAtMs ?? 0));
    const wanted = summary.phase === 'complete' ? 'complete' : null;
    const last = ended.findLast((end) => wanted === null || end.state === wanted) ?? ended.at(-1);
    if (last === undefined) {
      const reason = `the job is ${summary.phase}`;
      return { state: summary.phase, exit: null, reason, host: null, allocation: null };
    }
    const { state, exit = null, reason, id } = last;
    const host = last.host === '' ? null : last.host;
    return { state, exit, reason, host, allocation: host === null ? null : id };
  }

  #rolloutOf(jobKey: string, record: JobRecord): RolloutStatus {
    const { rollouts } = this.#evaluate(jobKey, record);
    return {
      record: this.#copy.rolloutOf(jobKey),
      paused: record.rollout?.paused === true,
      outdated: rollouts.reduce((sum, { outdated }) => sum + outdated, 0),
    };
  }

  /** Are there allocations that an update is still to replace? */
  isUpdating(jobKey: string): boolean {
    const record = this.#copy.jobs.get(jobKey)?.value;
    return record !== undefined && this.#evaluate(jobKey, record).rollouts.length > 0;
  }

  /** Running allocations that are not ready, those that their hosts had to start again, and ended ones that keep their place, for people. */
  troubled(jobKey: string): readonly string[] {
    return this.allocations(jobKey).flatMap(({ name, report }) => {
      if (report === null) return [];
      const ended = endedInPlace(report);
      if (ended !== null) return [`${name} has ended: ${ended}`];
      if (report.state !== 'running') return [];
      const notReady = notReadyOf(report);
      const times = report.restarts === 1 ? 'once' : `${String(report.restarts)} times`;
      return [
        ...(notReady === null ? [] : [`${name} is not ready: ${notReady}`]),
        ...(report.reason === '' ? [] : [`${name}: ${report.reason}`]),
        ...(report.restarts === 0 ? [] : [`${name} was restarted ${times}`]),
      ];
    });
  }

  /** Ends of each slot, the oldest first. */
  #endsBySlot(jobKey: string): ReadonlyMap<string, readonly Outcome[]> {
    const ends = new Map<string, Outcome[]>();
    for (const outcome of this.#outcomes(jobKey).sort((a, b) => a.attempt - b.attempt)) {
      const slot = slotOf(outcome);
      const known = ends.get(slot);
      if (known === undefined) ends.set(slot, [outcome]);
      else known.push(outcome);
    }
    return ends;
  }

  #restartsOf(jobKey: string, { job, version, desired }: JobRecord): Restarts {
    const ends = new Map(this.#endsBySlot(jobKey));
    const all: Restarts[] = [];
    for (const allocation of this.#copy.allocationsOf(jobKey)) {
      const slot = slotOf(allocation);
      const report = this.#view.get(allocation.host, allocation.id) ?? null;
      all.push(restartsOfSlot({ allocation, report }, ends.get(slot) ?? []));
      ends.delete(slot);
    }
    const isEnded = (last: Outcome | undefined): boolean =>
      desired === 'stop' || (job.type === 'batch' && last?.state === 'complete');
    for (const history of ends.values()) {
      const ofVersion = history.filter((end) => end.jobVersion === version);
      if (!isEnded(ofVersion.at(-1))) all.push(restartsOfEmptySlot(ofVersion));
    }
    return joinRestarts(all);
  }

  #outcomes(jobKey: string): Outcome[] {
    return Array.from(this.#copy.outcomesByJob.of(jobKey).values(), ({ value }) => value);
  }

  #reports(jobKey: string) {
    return [...this.#copy.allocationsOf(jobKey)].flatMap(({ host, id }) => {
      const report = this.#view.get(host, id);
      return report === undefined ? [] : [report];
    });
  }

  #summarize(jobKey: string, record: JobRecord): JobSummary {
    const counts = this.#countsOf(jobKey, record);
    const { job } = record;
    const phase = this.#phaseOf(jobKey, record, counts);
    const goesOn = phase === 'pending' || phase === 'running';
    return {
      namespace: job.namespace,
      name: job.name,
      type: job.type,
      precedence: job.precedence,
      version: record.version,
      desired: record.desired,
      owner: this.#copy.owners.get(jobKey)?.value.scheduler ?? null,
      submittedAtMs: record.submittedAtMs,
      oneOff: job.oneOff,
      ...(record.deleted === undefined ? {} : { deleted: record.deleted }),
      phase,
      ...(goesOn || counts.placed > 0 ? {} : { endedAtMs: this.#endedAtMs(jobKey, record) }),
      counts,
      restarts: goesOn ? this.#restartsOf(jobKey, record) : NO_RESTARTS,
    };
  }

  /** A job of which nothing was ever placed ended when it was last changed, as far as is known. */
  #endedAtMs(jobKey: string, { submittedAtMs }: JobRecord): number {
    return this.#outcomes(jobKey).reduce(
      (latest, { endedAtMs }) => Math.max(latest, endedAtMs),
      submittedAtMs,
    );
  }

  #countsOf(jobKey: string, record: JobRecord): AllocationCounts {
    const reports = this.#reports(jobKey);
    const placed = [...this.#copy.allocationsOf(jobKey)];
    const causes = new Map(placed.map(({ id, cause }) => [id, cause]));
    const ends = new Map<string, SlotEnd>();
    const note = (end: SlotEnd): void => {
      const slot = slotOf(end);
      const known = ends.get(slot);
      if (known === undefined || known.attempt <= end.attempt) ends.set(slot, end);
    };
    for (const outcome of this.#outcomes(jobKey)) note(outcome);
    for (const report of reports) note({ ...report, cause: causes.get(report.id) });
    return {
      desired: this.#desiredOf(record),
      ...(mayGrow(record) ? { desiredMax: sumOf(record, slotsMaxOf) } : {}),
      placed: placed.length,
      running: reports.filter((report) => report.state === 'running').length,
      ready: reports.filter(isUp).length,
      complete: [...ends.values()].filter(({ state }) => state === 'complete').length,
      failed: [...ends.values()].filter(isFailure).length,
    };
  }

  #desiredOf(record: JobRecord): number {
    if (record.desired === 'stop') return 0;
    if (record.job.type !== 'system') return sumOf(record, ({ count }) => count);
    return sumOf(record, (group) => this.#matching(group).length);
  }

  #matching(group: Group): MatchingHost[] {
    const found: MatchingHost[] = [];
    for (const id of this.#copy.hosts.names()) {
      const host = this.#copy.hostOf(id);
      if (host === undefined || !group.constraints.every((expression) => meets(host, expression))) continue;
      const state = this.#copy.eligibility.get(id)?.value.state ?? 'ready';
      found.push({ host: id, ready: state === 'ready' && this.#copy.alive.get(id) !== undefined });
    }
    return found;
  }

  #phaseOf(jobKey: string, record: JobRecord, counts: AllocationCounts): JobPhase {
    // All tasks completed: final, though the hosts still clean up.
    const wantsEnd = record.job.type === 'batch' && record.desired === 'run' && !mayGrow(record);
    if (wantsEnd && counts.desired > 0 && counts.complete >= counts.desired) return 'complete';
    const finished = this.#evaluate(jobKey, record).finished;
    if (finished !== null) return finished;
    const isStopping = record.desired === 'stop' && counts.placed > 0;
    return counts.running > 0 || isStopping ? 'running' : 'pending';
  }

  #evaluate(jobKey: string, record: JobRecord): Evaluation {
    const outcomes = this.#outcomes(jobKey);
    outcomes.sort((a, b) => a.attempt - b.attempt || a.endedAtMs - b.endedAtMs);
    const view: JobView = {
      record,
      live: [...this.#copy.allocationsByJob.of(jobKey).values()].map(({ value }) => ({
        allocation: value,
        report: this.#view.get(value.host, value.id) ?? null,
      })),
      outcomes,
      versions: this.#copy.versionsOf(jobKey, record.version),
      rollout: this.#copy.rolloutOf(jobKey),
      hostCondition: (host) => {
        const known = this.#copy.eligibility.get(host)?.value;
        return { state: known?.state ?? 'ready', drainDeadlineMs: known?.drainDeadlineMs ?? null };
      },
      hostOf: (host) => this.#copy.hostOf(host),
      upForMs: () => Infinity,
      matching: (group) => this.#matching(group),
      // Only what no delay changes is asked for: a slot that waits is not finished, and what an update replaces is old.
      nowMs: record.submittedAtMs,
    };
    return evaluate(view);
  }
}

function slotOf({ group, index }: { readonly group: string; readonly index: number }): string {
  return `${group}/${String(index)}`;
}

/** How the newest attempt of a slot ended, or the state that it is in. */
interface SlotEnd extends Pick<Outcome, 'group' | 'index' | 'attempt' | 'state'> {
  readonly cause?: string | undefined;
}

const FAILED: ReadonlySet<string> = new Set(['failed', 'killed', 'rejected', 'lost']);
const CAUSES_OF_FAILURE: ReadonlySet<string> = new Set([CAUSES.unplaceable, CAUSES.hostLost]);

/** What a scheduler stops, for an update, a drain or another job, has not failed, however its tasks end. */
function isFailure({ state, cause }: SlotEnd): boolean {
  return FAILED.has(state) && (cause === undefined || CAUSES_OF_FAILURE.has(cause));
}

/** Then some of what completes is not of the minimum, and says nothing about its end. */
function mayGrow({ job, desired }: JobRecord): boolean {
  return desired === 'run' && Object.values(job.groups).some(({ countMax }) => countMax !== undefined);
}

function sumOf({ job }: JobRecord, countOf: (group: Group) => number): number {
  return Object.values(job.groups).reduce((sum, group) => sum + countOf(group), 0);
}

function bySlot(a: Allocation, b: Allocation): number {
  return a.group.localeCompare(b.group) || a.index - b.index || a.attempt - b.attempt;
}
