import type { HostClient } from '../../src/clients/host-client.ts';
import type { Outcome } from '../../src/core/cell/allocation.ts';
import type { Job } from '../../src/core/cell/job.ts';
import { givenUpAtMs } from '../../src/core/slots/given-up.ts';
import { OUTCOMES_PER_SLOT_MAX, surplusOutcomes } from '../../src/core/slots/outcomes.ts';
import type { Write } from '../../src/ports/cell-store.ts';
import type { CellView } from '../../src/runtime/reports/cell-view.ts';
import { isReporting } from '../../src/runtime/reports/cell-view.ts';
import type { MonitorContext } from '../context.ts';
import type { JobStatuses } from '../jobs/jobs.ts';

export interface RetentionDeps extends MonitorContext {
  readonly view: CellView;
  readonly statuses: JobStatuses;
  readonly hosts: HostClient;
  /** See `ReaperTimes`. */
  readonly times: {
    readonly orphanMs: number;
    readonly runRetentionMs: number;
    readonly outcomeRetentionMs: number;
  };
}

/** Deletes in one transaction, well under every store's limit. */
const DELETES_MAX = 50;

/**
 * Deletes outcomes and finished one-off runs past their retention. A host forgets its record of an ended allocation before the
 * store forgets the outcome: what has no outcome any more could not be found to be removed there.
 */
export class Retention {
  readonly #deps: RetentionDeps;

  constructor(deps: RetentionDeps) {
    this.#deps = deps;
  }

  /** Of a job whose record is gone. */
  async dropOldOutcomes(jobKey: string): Promise<void> {
    const oldest = this.#deps.clock.nowMs() - this.#deps.times.outcomeRetentionMs;
    await this.#drop(this.#outcomesOf(jobKey).filter(({ endedAtMs }) => endedAtMs < oldest));
  }

  /** More outcomes of a slot than its reschedule policy needs. */
  async dropSurplusOutcomes(jobKey: string, job: Job): Promise<void> {
    const outcomes = this.#outcomesOf(jobKey);
    if (outcomes.length <= OUTCOMES_PER_SLOT_MAX) return;
    const slots = new Map<string, Outcome[]>();
    for (const outcome of outcomes) {
      const slot = `${outcome.group}/${String(outcome.index)}`;
      slots.set(slot, [...(slots.get(slot) ?? []), outcome]);
    }
    const surplus = [...slots.values()].flatMap((history) => {
      const policy = job.groups[history[0]?.group ?? '']?.reschedule;
      if (policy === undefined) return [];
      history.sort((a, b) => a.attempt - b.attempt || a.endedAtMs - b.endedAtMs);
      return surplusOutcomes(history, policy, OUTCOMES_PER_SLOT_MAX);
    });
    await this.#drop(surplus);
  }

  /** A finished one-off run past its retention goes: records on hosts, then the job and its key together, then outcomes. */
  async dropRun(jobKey: string): Promise<void> {
    const { copy, statuses, clock, times, store, keys } = this.#deps;
    const row = copy.jobs.get(jobKey);
    const phase = statuses.summary(jobKey)?.phase;
    if (row === undefined || phase === undefined || phase === 'pending' || phase === 'running') return;
    if (copy.allocationsByJob.of(jobKey).size > 0) return;
    const outcomes = this.#outcomesOf(jobKey);
    const endedMs = Math.max(row.value.submittedAtMs, ...outcomes.map((outcome) => outcome.endedAtMs));
    if (clock.nowMs() - endedMs < times.runRetentionMs) return;
    if ((await this.#forgetOnHosts(outcomes)).length < outcomes.length) return;
    const { namespace, name } = row.value.job;
    const key = keys.job(namespace, name);
    const runs = [...copy.runsByJob.of(jobKey).keys()].map((run) => keys.runs + run);
    // The job goes first: without its outcomes a scheduler would run it again.
    const reply = await store.attempt({
      compares: [{ key, target: 'modRevision', equals: row.modRevision }],
      writes: [key, ...runs].slice(0, DELETES_MAX).map((gone) => ({ kind: 'delete', key: gone })),
      readBack: [],
    });
    if (reply.outcome === 'applied') await this.#delete(outcomes);
    this.#deps.metrics.count('moorage_monitor_reaped_total', { what: 'run' });
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
    const { copy, clock, times } = this.#deps;
    const atMs = givenUpAtMs(copy.eligibility.get(host)?.value, times.orphanMs);
    return atMs !== null && clock.nowMs() >= atMs;
  }

  async #delete(outcomes: readonly Outcome[]): Promise<void> {
    const { store, keys, metrics } = this.#deps;
    for (let at = 0; at < outcomes.length; at += DELETES_MAX) {
      const gone = outcomes.slice(at, at + DELETES_MAX);
      const outcomeKeys = gone.map((one) => keys.outcome(one.namespace, one.job, one.allocation));
      const writes = outcomeKeys.map((key): Write => ({ kind: 'delete', key }));
      // Outcomes are created once and never changed: there is nothing to compare.
      await store.attempt({ compares: [], writes, readBack: [] });
      metrics.count('moorage_monitor_reaped_total', { what: 'outcome' }, writes.length);
    }
  }
}
