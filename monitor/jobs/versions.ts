import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import type { Job } from '../../src/core/cell/job.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import type { VersionStatus } from '../../src/wire/api/monitor-api.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { MonitorContext } from '../context.ts';
import type { CellCopy } from '../view/view.ts';
import { monitorRank } from '../view/rank.ts';
import type { JobWrites } from './job-writes.ts';

/** The versions of jobs, as far as they are kept. */
export class JobVersions {
  readonly #copy: CellCopy;

  constructor(copy: CellCopy) {
    this.#copy = copy;
  }

  /** The newest first. */
  history(jobKey: string): readonly VersionStatus[] {
    const current = this.#copy.jobs.get(jobKey)?.value;
    if (current === undefined) return [];
    const good = this.#copy.rolloutOf(jobKey)?.good;
    const earlier = [...this.#copy.versionsByJob.of(jobKey).values()].map(({ value }) => value);
    return [current, ...earlier.sort((a, b) => b.version - a.version)].map((record) => ({
      ...{ version: record.version, submittedAtMs: record.submittedAtMs, current: record === current },
      ...{ good: record.version === good, restores: record.restores ?? null, job: record.job },
    }));
  }

  /** To which version an update is undone: the last good one, or the one before; null: none is kept. */
  before(jobKey: string): number | null {
    const record = this.#copy.jobs.get(jobKey)?.value;
    if (record === undefined) return null;
    const good = this.goodBefore(jobKey);
    if (good !== null) return good;
    const earlier = this.history(jobKey).filter(({ current }) => !current);
    return earlier.find(({ job }) => !isSame(job, record.job))?.version ?? earlier[0]?.version ?? null;
  }

  /** The last good version before the present one, whose spec is another one; null: none is known, or it is not kept. */
  goodBefore(jobKey: string): number | null {
    const record = this.#copy.jobs.get(jobKey)?.value;
    const good = this.#copy.rolloutOf(jobKey)?.good;
    if (record === undefined || good === undefined || good >= record.version) return null;
    const spec = this.#copy.versionsOf(jobKey, record.version).get(good);
    return spec === undefined || isSame(spec, record.job) ? null : good;
  }
}

function isSame({ restartedAtMs: _a, ...a }: Job, { restartedAtMs: _b, ...b }: Job): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

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
  readonly #stop: () => void;
  #checking: Promise<void> | null = null;

  constructor(deps: AutoRevertDeps) {
    this.#deps = deps;
    this.#stop = every(deps.clock, CHECK_MS, () => {
      this.#checking ??= this.check().finally(() => (this.#checking = null));
    });
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#checking;
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
        log.debug({ jobKey, error }, 'a failed update is not undone yet; it is tried again');
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
    log.warn({ jobKey, version, to, reason }, 'an update failed and is undone');
  }
}
