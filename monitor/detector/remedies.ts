import { DEFAULT_REMEDIES, isClosedForFault, quarantineMsOf } from '../../src/core/detector/remedies.ts';
import type { Remedy, RemedyPolicy } from '../../src/core/detector/remedies.ts';
import type { Revision, Suspect } from '../../src/core/detector/suspects.ts';
import { domainsOf, hostOf, revisionOf } from '../../src/core/detector/suspects.ts';
import type { RemedyState, Verdict } from '../../src/core/detector/verdict.ts';
import { faultText } from '../../src/core/detector/verdict.ts';
import type { PauseScope } from '../../src/core/quota/pauses.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { MonitorContext } from '../context.ts';
import type { JobWrites } from '../jobs/job-writes.ts';
import type { JobVersions } from '../jobs/versions.ts';
import { setPause } from '../limits/pauses.ts';
import type { EligibilityWriter } from '../hosts/eligibility.ts';
import { HostCloser } from './closed-hosts.ts';

export interface RemediesDeps extends MonitorContext {
  readonly eligibility: EligibilityWriter;
  readonly writes: JobWrites;
  readonly versions: JobVersions;
}

/** What came of a remedy. */
type Applied = Pick<RemedyState, 'state' | 'detail'>;

/** The policy in force: the one that operators have set, or the default. */
export function policyOf({ copy }: Pick<MonitorContext, 'copy'>): RemedyPolicy {
  return copy.remedies.get('')?.value ?? DEFAULT_REMEDIES;
}

/**
 * Applies remedies, and undoes them when their verdict ends. Both may be done twice: what is there already is left as it is. A remedy is
 * applied once for a verdict, so that an operator's other word stands.
 */
export class Remedies {
  readonly #deps: RemediesDeps;
  readonly #hosts: HostCloser;

  constructor(deps: RemediesDeps) {
    this.#deps = deps;
    this.#hosts = new HostCloser(deps);
  }

  async apply(remedy: Remedy, verdict: Verdict): Promise<Applied> {
    const { suspect, times } = verdict;
    const policy = policyOf(this.#deps);
    const revision = revisionOf(suspect);
    const why = faultText(verdict);
    switch (remedy) {
      case 'slow-restarts':
        return this.#pause('restarts', revision, why, { everyMs: policy.restartEveryMs });
      case 'stop-rollout':
        return this.#pause('rollouts', revision, why, {});
      case 'revert':
        return this.#revert(revision);
      case 'quarantine':
      case 'drain': {
        const host = hostOf(suspect) ?? '';
        const state = remedy === 'drain' ? 'draining' : 'quarantined';
        const refused = await this.#hosts.close(host, state, why, policy);
        const forMs = quarantineMsOf(policy, times);
        return refused === null
          ? { state: 'applied', detail: `for ${String(Math.round(forMs / 60_000))} min at most` }
          : { state: 'refused', detail: refused };
      }
      case 'stop-placement':
        return this.#closeDomain(suspect, why, policy);
    }
  }

  async undo(remedy: Remedy, { suspect, endedWhy }: Verdict): Promise<void> {
    const revision = revisionOf(suspect);
    const why = endedWhy ?? '';
    switch (remedy) {
      case 'slow-restarts':
        return this.#resume('restarts', revision);
      case 'stop-rollout':
        return this.#resume('rollouts', revision);
      case 'revert':
        return;
      case 'quarantine':
      case 'drain':
        return this.#hosts.open(hostOf(suspect) ?? '', why);
      case 'stop-placement':
        for (const host of this.#hostsOf(suspect))
          if (this.#isClosed(host)) await this.#hosts.open(host, why);
    }
  }

  tidy(): Promise<void> {
    return this.#hosts.tidy();
  }

  async #pause(
    what: 'restarts' | 'rollouts',
    revision: Revision | null,
    why: string,
    more: { readonly everyMs?: number },
  ): Promise<Applied> {
    if (revision === null) return { state: 'refused', detail: 'it is no revision' };
    const sinceMs = Math.round(this.#deps.clock.nowMs());
    const reason = `at fault: ${why}`;
    await setPause(this.#deps, what, scopeOf(revision), { by: this.#deps.self, reason, sinceMs, ...more });
    const detail = more.everyMs === undefined ? '' : `one in ${String(Math.round(more.everyMs / 1_000))} s`;
    return { state: 'applied', detail };
  }

  async #resume(what: 'restarts' | 'rollouts', revision: Revision | null): Promise<void> {
    if (revision !== null) await setPause(this.#deps, what, scopeOf(revision), null);
  }

  /** Only while it is being rolled out: what was well for a while has no better version. */
  async #revert(revision: Revision | null): Promise<Applied> {
    if (revision === null) return { state: 'refused', detail: 'it is no revision' };
    const { copy, versions, writes, metrics } = this.#deps;
    const { namespace, job, version } = revision;
    const jobKey = `${namespace}/${job}`;
    const record = copy.jobs.get(jobKey)?.value;
    if (record?.version !== version || record.desired !== 'run')
      return { state: 'refused', detail: 'it is not the present version' };
    const rollout = copy.rolloutOf(jobKey);
    if (rollout?.version === version && rollout.state === 'done')
      return { state: 'refused', detail: 'its rollout was done: all of it had come up' };
    const to = versions.goodBefore(jobKey);
    if (to === null) return { state: 'refused', detail: 'no good version before it is known' };
    try {
      const { answer } = await writes.restore(namespace, job, { to, from: version });
      metrics.count('moorage_monitor_reverts_total');
      return {
        state: 'applied',
        detail: `version ${String(to)} again, as version ${String(answer.version)}`,
      };
    } catch (error) {
      // Somebody else was first.
      if (error instanceof ProblemError && error.problem.code === 'version-mismatch')
        return { state: 'refused', detail: 'it was changed meanwhile' };
      throw error;
    }
  }

  /** As many of its hosts as the shares of their pools allow. */
  async #closeDomain(suspect: string, why: string, policy: RemedyPolicy): Promise<Applied> {
    let [closed, all, refused] = [0, 0, ''];
    for (const host of this.#hostsOf(suspect)) {
      all += 1;
      const answer = this.#isClosed(host) ? null : await this.#hosts.close(host, 'quarantined', why, policy);
      if (answer === null) closed += 1;
      else refused = answer;
    }
    const detail = `${String(closed)} of ${String(all)} hosts take nothing new`;
    if (closed === 0) return { state: 'refused', detail: refused };
    return { state: 'applied', detail: refused === '' ? detail : `${detail}; ${refused}` };
  }

  #hostsOf(suspect: string): readonly string[] {
    const hosts: string[] = [];
    const { copy } = this.#deps;
    for (const [name] of copy.hosts.rows()) {
      const host = copy.hostOf(name);
      if (host !== undefined && domainsOf(host).includes(suspect as Suspect)) hosts.push(name);
    }
    return hosts.sort();
  }

  #isClosed(host: string): boolean {
    const known = this.#deps.copy.eligibility.get(host)?.value;
    return known !== undefined && isClosedForFault(known);
  }
}

function scopeOf({ namespace, job, version }: Revision): PauseScope {
  return { namespace, job, version };
}
