import type { HostClient } from '../../src/clients/host-client.ts';
import type { Outcome } from '../../src/core/cell/allocation.ts';
import type { Job } from '../../src/core/cell/job.ts';
import { givenUpAtMs } from '../../src/core/slots/given-up.ts';
import { surplusOutcomes } from '../../src/core/slots/outcomes.ts';
import type { Attempt, Write } from '../../src/ports/cell-store.ts';
import type { CellView } from '../../src/runtime/reports/cell-view.ts';
import { isReporting } from '../../src/runtime/reports/cell-view.ts';
import { Semaphore } from '../../src/runtime/wait/semaphore.ts';
import type { MonitorContext } from '../context.ts';
import type { JobStatuses } from '../jobs/jobs.ts';
import type { ReaperLimits } from './reaper-limits.ts';

export interface RetentionDeps extends MonitorContext {
  readonly view: CellView;
  readonly statuses: JobStatuses;
  readonly hosts: HostClient;
  readonly limits: ReaperLimits;
}

/** Deletes in one transaction, well under every store's limit. */
const DELETES_MAX = 50;
/**
 * Orders to hosts at once, those for one host in one request, and transactions at once: with fewer, runs end faster than they are
 * deleted where hundreds end a second.
 */
const ORDERS_AT_ONCE = 128;
const DELETIONS_AT_ONCE = 8;

/** An ended job whose time is over. */
export interface DueJob {
  readonly jobKey: string;
  readonly job: Job;
  readonly modRevision: number;
  readonly outcomes: readonly Outcome[];
}

/**
 * Deletes outcomes, versions, ended jobs with their rollouts, and one-off runs past their retention. A host forgets its record of
 * an ended allocation before the store forgets the outcome: what has no outcome any more could not be found to be removed there.
 */
export class Retention {
  readonly #deps: RetentionDeps;
  readonly #orders = new Semaphore(ORDERS_AT_ONCE);
  readonly #deletions = new Semaphore(DELETIONS_AT_ONCE);

  constructor(deps: RetentionDeps) {
    this.#deps = deps;
  }

  /** Of a job whose record is gone. */
  async dropOldOutcomes(jobKey: string): Promise<void> {
    const oldest = this.#deps.clock.nowMs() - this.#deps.limits.outcomeRetentionMs;
    await this.#drop(this.#outcomesOf(jobKey).filter(({ endedAtMs }) => endedAtMs < oldest));
  }

  /** More outcomes of a slot than its reschedule policy needs. */
  async dropSurplusOutcomes(jobKey: string, job: Job): Promise<void> {
    const { outcomesPerSlot } = this.#deps.limits;
    const outcomes = this.#outcomesOf(jobKey);
    if (outcomesPerSlot === null || outcomes.length <= outcomesPerSlot) return;
    const slots = new Map<string, Outcome[]>();
    for (const outcome of outcomes) {
      const slot = `${outcome.group}/${String(outcome.index)}`;
      slots.set(slot, [...(slots.get(slot) ?? []), outcome]);
    }
    const surplus = [...slots.values()].flatMap((history) => {
      const policy = job.groups[history[0]?.group ?? '']?.reschedule;
      if (policy === undefined) return [];
      history.sort((a, b) => a.attempt - b.attempt || a.endedAtMs - b.endedAtMs);
      return surplusOutcomes(history, policy, outcomesPerSlot);
    });
    await this.#drop(surplus);
  }

  /**
   * When a job ended of which nothing is placed any more; null: it has not, or somebody works on it.
   * A job that its user stopped counts from its last outcome.
   */
  endedMs(jobKey: string): number | null {
    const { copy, statuses } = this.#deps;
    if (copy.owners.has(jobKey) || copy.allocationsByJob.of(jobKey).size > 0) return null;
    const summary = statuses.summary(jobKey);
    if (summary === null || summary.phase === 'pending' || summary.phase === 'running') return null;
    return summary.endedAtMs ?? null;
  }

  /** @param isSurplus more than are kept ended later. @returns null: its time is not over */
  dueJob(jobKey: string, endedMs: number, isSurplus: boolean): DueJob | null {
    const { copy, clock, limits } = this.#deps;
    const row = copy.jobs.get(jobKey);
    if (row === undefined) return null;
    const { job, deleted } = row.value;
    const keptMs = job.oneOff ? limits.runRetentionMs : limits.jobRetentionMs;
    const isDue = keptMs !== null && clock.nowMs() - endedMs >= keptMs;
    if (!isDue && deleted !== true && !isSurplus) return null;
    return { jobKey, job, modRevision: row.modRevision, outcomes: this.#outcomesOf(jobKey) };
  }

  /**
   * Deletes ended jobs whose time is over: records on hosts first, then their versions, then each job and its runs' keys together,
   * then their outcomes. A job goes before its outcomes: without them a scheduler would run it again. Each step is repeated
   * when the one after it failed.
   */
  async dropEnded(jobs: readonly DueJob[]): Promise<void> {
    const { copy, keys, metrics } = this.#deps;
    const forgotten = new Set(await this.#forgetOnHosts(jobs.flatMap(({ outcomes }) => outcomes)));
    const free = jobs.filter(({ outcomes }) => outcomes.every((one) => forgotten.has(one)));
    const versions = free.flatMap(({ jobKey }) => [...copy.versionsByJob.of(jobKey).keys()]);
    await this.#deleteKeys(versions.map((name) => keys.versions + name));
    const gone = await this.#deleteJobs(free);
    await this.#delete(gone.flatMap(({ outcomes }) => outcomes));
    for (const { job } of gone)
      metrics.count('moorage_monitor_reaped_total', { what: job.oneOff ? 'run' : 'job' });
  }

  /** Versions beyond those kept, by number and by age, but for what an allocation or an outcome still names. */
  async dropOldVersions(jobKey: string): Promise<void> {
    const { copy, clock, limits, keys } = this.#deps;
    const versions = [...copy.versionsByJob.of(jobKey).keys()].sort();
    if (versions.length === 0) return;
    const named = new Set<number>();
    for (const { value } of copy.allocationsByJob.of(jobKey).values()) named.add(value.jobVersion);
    for (const { jobVersion } of this.#outcomesOf(jobKey)) named.add(jobVersion);
    const oldestMs = clock.nowMs() - (limits.versionRetentionMs ?? Infinity);
    const surplus = Math.max(0, versions.length - (limits.versionsKept ?? Infinity));
    const gone = versions.filter((name, at) => {
      if (named.has(Number(name.slice(name.lastIndexOf('/') + 1)))) return false;
      if (at < surplus) return true;
      const record = limits.versionRetentionMs === null ? undefined : copy.versions.get(name)?.value;
      return record !== undefined && record.submittedAtMs < oldestMs;
    });
    await this.#deleteKeys(gone.map((name) => keys.versions + name));
    if (gone.length > 0)
      this.#deps.metrics.count('moorage_monitor_reaped_total', { what: 'version' }, gone.length);
  }

  #outcomesOf(jobKey: string): Outcome[] {
    return Array.from(this.#deps.copy.outcomesByJob.of(jobKey).values(), ({ value }) => value);
  }

  async #drop(outcomes: readonly Outcome[]): Promise<void> {
    await this.#delete(await this.#forgetOnHosts(outcomes));
  }

  /** @returns the outcomes of which no host has a record any more; the rest is tried again later */
  async #forgetOnHosts(outcomes: readonly Outcome[]): Promise<readonly Outcome[]> {
    const areForgotten = await Promise.all(
      outcomes.map((outcome) => this.#orders.run(() => this.#isForgotten(outcome))),
    );
    return outcomes.filter((_, at) => areForgotten[at]);
  }

  /**
   * Lets the host forget what is durably ended. That a host has no report of it counts only while the host is reporting: an
   * older view does not show what the host keeps.
   * @returns true: it has no record of it any more
   */
  async #isForgotten({ allocation, host }: Outcome): Promise<boolean> {
    const { view, copy, hosts } = this.#deps;
    const report = view.get(host, allocation);
    const address = copy.hosts.get(host)?.value.address;
    const isGone = isReporting(view, host) ? report === undefined : this.#isGivenUp(host);
    if (address === undefined || isGone) return true;
    if (report?.released !== true) return false;
    return (await hosts.remove(address, allocation, `${allocation}-reap-remove`)).kind === 'removed';
  }

  /** Lost for the orphan time: its records are no longer waited for. */
  #isGivenUp(host: string): boolean {
    const { copy, clock, limits } = this.#deps;
    const atMs = givenUpAtMs(copy.eligibility.get(host)?.value, limits.orphanMs);
    return atMs !== null && clock.nowMs() >= atMs;
  }

  /** Several in one transaction; when one of them has changed meanwhile, each by itself. @returns those that are gone */
  async #deleteJobs(jobs: readonly DueJob[]): Promise<readonly DueJob[]> {
    const groups = groupsOf(jobs, DELETES_MAX, (due) => this.#keysOf(due).length);
    const gone = groups.map(async (together) => {
      if (await this.#deleteTogether(together)) return together;
      if (together.length === 1) return [];
      const alone = together.map(async (due) => ((await this.#deleteTogether([due])) ? [due] : []));
      return (await Promise.all(alone)).flat();
    });
    return (await Promise.all(gone)).flat();
  }

  async #deleteTogether(jobs: readonly DueJob[]): Promise<boolean> {
    const { keys, store } = this.#deps;
    const attempt: Attempt = {
      compares: jobs.map(({ job, modRevision }) => ({
        ...{ key: keys.job(job.namespace, job.name), target: 'modRevision', equals: modRevision },
      })),
      writes: jobs.flatMap((due) => this.#keysOf(due).map((key): Write => ({ kind: 'delete', key }))),
      readBack: [],
    };
    return (await this.#deletions.run(() => store.attempt(attempt))).outcome === 'applied';
  }

  /** The job, its rollout and the keys of its runs. */
  #keysOf({ jobKey, job: { namespace, name } }: DueJob): string[] {
    const { copy, keys } = this.#deps;
    const runs = [...copy.runsByJob.of(jobKey).keys()].map((run) => keys.runs + run);
    return [keys.job(namespace, name), keys.rollout(namespace, name), ...runs].slice(0, DELETES_MAX);
  }

  async #delete(outcomes: readonly Outcome[]): Promise<void> {
    const { keys, metrics } = this.#deps;
    await this.#deleteKeys(outcomes.map((one) => keys.outcome(one.namespace, one.job, one.allocation)));
    if (outcomes.length > 0)
      metrics.count('moorage_monitor_reaped_total', { what: 'outcome' }, outcomes.length);
  }

  /** Of records that are created once and never changed: there is nothing to compare. */
  async #deleteKeys(gone: readonly string[]): Promise<void> {
    const deletes = gone.map((key): Write => ({ kind: 'delete', key }));
    const parts = Array.from({ length: Math.ceil(deletes.length / DELETES_MAX) }, (_, part) =>
      deletes.slice(part * DELETES_MAX, (part + 1) * DELETES_MAX),
    );
    await Promise.all(
      parts.map((writes) =>
        this.#deletions.run(() => this.#deps.store.attempt({ compares: [], writes, readBack: [] })),
      ),
    );
  }
}

/** In their order, as many together as have at most so much in all; one that has more is by itself. */
function groupsOf<T>(items: readonly T[], most: number, sizeOf: (item: T) => number): T[][] {
  const groups: T[][] = [];
  let left = 0;
  for (const item of items) {
    const size = sizeOf(item);
    const last = groups.at(-1);
    if (last === undefined || size > left) {
      groups.push([item]);
      left = most - size;
    } else {
      last.push(item);
      left -= size;
    }
  }
  return groups;
}
