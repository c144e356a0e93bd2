import { POOL_ATTRIBUTE } from '../quota/pauses.ts';
import type { SuspectKind } from './suspects.ts';
import { kindOf, revisionOf } from './suspects.ts';
import type { Suspect } from './suspects.ts';

/**
 * What monitors do about a verdict. Each is told as an event in any case.
 *
 *   slow-restarts   a task of the revision is started again no sooner than `restartEveryMs` after its end, on every host
 *   stop-rollout    the revision replaces no other
 *   revert          while it is being rolled out: the last good version is submitted again
 *   quarantine      the host takes nothing new until a probe or the time says that it is well
 *   drain           the same, and what runs there is moved
 *   stop-placement  the hosts of the domain take nothing new
 */
export const REMEDIES = [
  'slow-restarts',
  'stop-rollout',
  'revert',
  'quarantine',
  'drain',
  'stop-placement',
] as const;
export type Remedy = (typeof REMEDIES)[number];

/** Which remedies are for whom. */
export const REMEDIES_OF: Readonly<Record<SuspectKind, readonly Remedy[]>> = {
  revision: ['slow-restarts', 'stop-rollout', 'revert'],
  ...{ host: ['quarantine', 'drain'], domain: ['stop-placement'], artifact: [], registry: [] },
};

/** The policy of a cell. An empty list: tell only. */
export interface RemedyPolicy {
  readonly revision: readonly Remedy[];
  readonly host: readonly Remedy[];
  readonly domain: readonly Remedy[];
  /** By `<namespace>/<job>`: what is done about revisions of this job, instead of `revision`. */
  readonly jobs: Readonly<Record<string, readonly Remedy[]>>;
  /** At most this share of the hosts of each pool takes nothing new for verdicts; in a pool of three or more at least one host. */
  readonly sharePercent: number;
  /** Remedies of all verdicts within an hour, over the whole cell; those beyond wait. */
  readonly perHourMax: number;
  /** So long a host takes nothing new; twice as long each time that it is at fault again. */
  readonly quarantineMs: number;
  readonly restartEveryMs: number;
}

export const DEFAULT_REMEDIES: RemedyPolicy = {
  revision: ['slow-restarts', 'stop-rollout', 'revert'],
  host: ['quarantine'],
  domain: ['stop-placement'],
  jobs: {},
  sharePercent: 20,
  perHourMax: 30,
  quarantineMs: 30 * 60_000,
  restartEveryMs: 5 * 60_000,
};

const HOUR_MS = 3_600_000;
const QUARANTINE_MAX_MS = 24 * 3_600_000;
/** Of fewer hosts none is missed by accident. */
const POOL_MIN = 3;

export function remediesFor(policy: RemedyPolicy, suspect: Suspect): readonly Remedy[] {
  const revision = revisionOf(suspect);
  if (revision !== null) return policy.jobs[`${revision.namespace}/${revision.job}`] ?? policy.revision;
  const kind = kindOf(suspect);
  return kind === 'host' ? policy.host : kind === 'domain' ? policy.domain : [];
}

/** How far the remedies of a verdict have come (`verdict.ts`). */
interface WithRemedies {
  readonly remedies: readonly { readonly state: string; readonly atMs: number }[];
}

/**
 * When the next remedy may be applied: each of them costs somebody something, and a detector that blames everybody is at fault
 * itself.
 * @param verdicts all that are known, ended ones too
 * @returns for how long it waits; 0: not at all
 */
export function budgetWaitMs(
  { perHourMax }: Pick<RemedyPolicy, 'perHourMax'>,
  verdicts: Iterable<WithRemedies>,
  nowMs: number,
): number {
  const times: number[] = [];
  for (const { remedies } of verdicts)
    for (const { state, atMs } of remedies)
      if ((state === 'applied' || state === 'undone') && nowMs - atMs < HOUR_MS) times.push(atMs);
  const oldest = times.sort((a, b) => b - a)[perHourMax - 1];
  return oldest === undefined ? 0 : oldest + HOUR_MS - nowMs;
}

/** How many hosts of a pool may be closed at once. */
export function closedMax({ sharePercent }: Pick<RemedyPolicy, 'sharePercent'>, hosts: number): number {
  const share = Math.floor((hosts * sharePercent) / 100);
  return share === 0 && sharePercent > 0 && hosts >= POOL_MIN ? 1 : share;
}

/** @param times how often it is at fault, this time included */
export function quarantineMsOf({ quarantineMs }: Pick<RemedyPolicy, 'quarantineMs'>, times: number): number {
  return Math.min(Math.max(QUARANTINE_MAX_MS, quarantineMs), quarantineMs * 2 ** Math.max(0, times - 1));
}

/** The pool of a host; empty: it names none. */
export function poolOf({ attributes }: { readonly attributes: Readonly<Record<string, string>> }): string {
  return attributes[POOL_ATTRIBUTE] ?? '';
}
