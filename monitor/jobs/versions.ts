import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import type { Job } from '../../src/core/cell/job.ts';
import type { VersionStatus } from '../../src/wire/api/monitor-api.ts';
import type { CellCopy } from '../view/view.ts';

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
