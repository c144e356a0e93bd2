import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Group } from '../../src/core/cell/job.ts';
import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import type { Host } from '../../src/core/host/host.ts';
import type { StartTerms } from '../../src/core/quota/ticket.ts';
import { claimOf } from '../../src/core/quota/ticket.ts';
import type { Digest } from '../../src/ports/crypto.ts';
import type { Launch } from '../../src/wire/api/host-api.ts';
import type { OwnedJob } from '../state/owned-job.ts';

/** What an allocation runs, and the digest of it that its ticket must carry. */
export interface LaunchOf {
  readonly launch: Launch;
  readonly digest: string;
}

/** Launches, made once for each group of a version: a job of 15,000 tasks has one command. */
export class Launches {
  readonly #digest: Digest;
  readonly #known = new WeakMap<Group, LaunchOf>();

  constructor(digest: Digest) {
    this.#digest = digest;
  }

  /** @returns null: the spec of that version is gone, and nothing says what the allocation should run */
  of(job: OwnedJob, allocation: Allocation): LaunchOf | null {
    const isCurrent = allocation.jobVersion === job.record.version;
    const spec = isCurrent ? job.record.job : job.versions.get(allocation.jobVersion);
    const group = spec?.groups[allocation.group];
    if (group === undefined) return null;
    const before = this.#known.get(group);
    if (before !== undefined) return before;
    const { tasks, restart, deadlineMs, stopAfterDisconnectMs, shutdownDelayMs } = group;
    const launch: Launch = {
      ...{ tasks, restart, deadlineMs },
      ...(stopAfterDisconnectMs === undefined ? {} : { stopAfterDisconnectMs }),
      ...(shutdownDelayMs === undefined ? {} : { shutdownDelayMs }),
    };
    const made = { launch, digest: this.#digest(canonicalJson(launch)) };
    this.#known.set(group, made);
    return made;
  }
}

/** The allocation as this scheduler orders it: a new owner of a job asks for tickets in its own name. */
export function orderedBy(scheduler: string, allocation: Allocation): Allocation {
  return allocation.scheduler === scheduler ? allocation : { ...allocation, scheduler };
}

/** What a ticket for this start must say, and the host will compare. */
export function startTermsOf(allocation: Allocation, host: Host, commandDigest: string): StartTerms {
  return {
    aud: host.id,
    hostIncarnation: host.incarnation,
    namespace: allocation.namespace,
    job: allocation.job,
    scheduler: allocation.scheduler,
    epoch: allocation.epoch,
    claim: claimOf(allocation),
    commandDigest,
  };
}
