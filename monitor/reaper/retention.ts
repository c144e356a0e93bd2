import type { HostClient } from '../../src/clients/host-client.ts';
import type { Outcome } from '../../src/core/cell/allocation.ts';
import type { Job } from '../../src/core/cell/job.ts';
import { givenUpAtMs } from '../../src/core/slots/given-up.ts';
import { surplusOutcomes } from '../../src/core/slots/outcomes.ts';
import type { Write } from '../../src/ports/cell-store.ts';
import type { CellView } from '../../src/runtime/reports/cell-view.ts';
import { isReporting } from '../../src/runtime/reports/cell-view.ts';
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
 * Deletes outcomes, versions, ended jobs with their rollouts, and one-off runs past their retention. A host forgets its record of
 * an ended allocation before the store forgets the outcome: what has no outcome any more could not be found to be removed there.
 */
export class Retention {
  readonly #deps: RetentionDeps;

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

  /**
   * Deletes an ended job whose time is over: records on hosts first, then its versions, then the job and its runs' keys together,
   * then its outcomes. The job goes before its outcomes: without them a scheduler would run it again. Each step is repeated
   * when the one after it failed.
   * @param isSurplus more than are kept ended later
   */
  async dropEnded(jobKey: string, endedMs: number, isSurplus: boolean): Promise<void> {
    const { copy, clock, limits, store, keys } = this.#deps;
    const row = copy.jobs.get(jobKey);
    if (row === undefined) return;
    const { job, deleted } = row.value;
    const keptMs = job.oneOff ? limits.runRetentionMs : limits.jobRetentionMs;
    const isDue = keptMs !== null && clock.nowMs() - endedMs >= keptMs;
    if (!isDue && deleted !== true && !isSurplus) return;
    const outcomes = this.#outcomesOf(jobKey);
    if ((await this.#forgetOnHosts(outcomes)).length < outcomes.length) return;
    await this.#deleteKeys([...copy.versionsByJob.of(jobKey).keys()].map((name) => keys.versions + name));
    const key = keys.job(job.namespace, job.name);
    const beside = [keys.rollout(job.namespace, job.name)];
    const runs = [...copy.runsByJob.of(jobKey).keys()].map((run) => keys.runs + run);
    const reply = await store.attempt({
      compares: [{ key, target: 'modRevision', equals: row.modRevision }],
      writes: [key, ...beside, ...runs].slice(0, DELETES_MAX).map((gone) => ({ kind: 'delete', key: gone })),
      readBack: [],
    });
    if (reply.outcome !== 'applied') return;
    await this.#delete(outcomes);
    this.#deps.metrics.count('moorage_monitor_reaped_total', { what: job.oneOff ? 'run' : 'job' });
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

  /**
   * Lets hosts forget what is durably ended. That a host has no report of it counts only while the host is reporting: an
   * older view does not show what the host keeps.
   * @returns the outcomes of which no host has a record any more; the rest is tried again later
   */
  async #forgetOnHosts(outcomes: readonly Outcome[]): Promise<readonly Outcome[]> {
    const { view, copy, hosts } = this.#deps;
    const forgotten: Outcome[] = [];
    for (const outcome of outcomes) {
      const { allocation, host } = outcome;
      const report = view.get(host, allocation);
      const address = copy.hosts.get(host)?.value.address;
      const isHere = isReporting(view, host);
      const isGone = isHere ? report === undefined : this.#isGivenUp(host);
      if (address !== undefined && !isGone) {
        if (report?.released !== true) continue;
        const answer = await hosts.remove(address, allocation, `${allocation}-reap-remove`);
        if (answer.kind !== 'removed') continue;
      }
      forgotten.push(outcome);
    }
    return forgotten;
  }

  /** Lost for the orphan time: its records are no longer waited for. */
  #isGivenUp(host: string): boolean {
    const { copy, clock, limits } = this.#deps;
    const atMs = givenUpAtMs(copy.eligibility.get(host)?.value, limits.orphanMs);
    return atMs !== null && clock.nowMs() >= atMs;
  }

  async #delete(outcomes: readonly Outcome[]): Promise<void> {
    const { keys, metrics } = this.#deps;
    await this.#deleteKeys(outcomes.map((one) => keys.outcome(one.namespace, one.job, one.allocation)));
    if (outcomes.length > 0)
      metrics.count('moorage_monitor_reaped_total', { what: 'outcome' }, outcomes.length);
  }

  /** Of records that are created once and never changed: there is nothing to compare. */
  async #deleteKeys(gone: readonly string[]): Promise<void> {
    for (let at = 0; at < gone.length; at += DELETES_MAX) {
      const writes = gone.slice(at, at + DELETES_MAX).map((key): Write => ({ kind: 'delete', key }));
      await this.#deps.store.attempt({ compares: [], writes, readBack: [] });
    }
  }
}
