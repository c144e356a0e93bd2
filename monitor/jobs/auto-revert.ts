import { PeriodicTask } from '../../src/runtime/wait/periodic-task.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { MonitorContext } from '../context.ts';
import { monitorRank } from '../view/rank.ts';
import type { JobWrites } from './job-writes.ts';
import type { JobVersions } from './versions.ts';

const CHECK_MS = 500;

export interface AutoRevertDeps extends MonitorContext {
  readonly writes: JobWrites;
  readonly versions: JobVersions;
}

/**
 * Undoes updates that failed, of jobs that say so: their owners record the failure, and one of the monitors submits the last
 * good version again. Level-triggered: what one monitor did not do, the next one does.
 */
export class AutoRevert {
  readonly #deps: AutoRevertDeps;
  readonly #checks: PeriodicTask;

  constructor(deps: AutoRevertDeps) {
    this.#deps = deps;
    this.#checks = new PeriodicTask(deps.clock, CHECK_MS, () => this.check());
  }

  close(): Promise<void> {
    return this.#checks.close();
  }

  /** Never rejects: what fails is tried again. */
  async check(): Promise<void> {
    const { copy, log } = this.#deps;
    for (const [name, row] of copy.rollouts.rows()) {
      if (row.value.state !== 'failed') continue;
      const jobKey = name.slice(0, name.lastIndexOf('/'));
      try {
        await this.#revert(jobKey, row.value.version, row.value.reason);
      } catch (error) {
        log.debug({ job: jobKey, error }, 'a failed update is not undone yet; it is tried again');
      }
    }
  }

  async #revert(jobKey: string, version: number, reason: string): Promise<void> {
    const { copy, writes, versions, log, metrics } = this.#deps;
    const record = copy.jobs.get(jobKey)?.value;
    if (record?.version !== version || record.desired !== 'run') return;
    if (!Object.values(record.job.groups).some(({ update }) => update?.autoRevert === true)) return;
    const to = versions.goodBefore(jobKey);
    if (to === null || monitorRank(this.#deps, jobKey) !== 0) return;
    const { namespace, name } = record.job;
    try {
      await writes.restore(namespace, name, { to, from: version });
    } catch (error) {
      // Somebody else was first.
      if (error instanceof ProblemError && error.problem.code === 'version-mismatch') return;
      throw error;
    }
    metrics.count('moorage_monitor_reverts_total');
    log.warn({ job: jobKey, version, to, reason }, 'an update failed and is undone');
  }
}
