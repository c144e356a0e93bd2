import type { Eligibility } from '../host/host.ts';
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

/**
 * Takes of the budget of the cell for one more remedy: each costs somebody something, and a detector that blames everybody is at
 * fault itself.
 * @param takenAtMs when each remedy was taken for, by its name; those of more than an hour ago count no more
 * @param name to take for the same one twice counts once
 * @returns what is taken then; null: it waits
 */
export function takeRemedy(
  { perHourMax }: Pick<RemedyPolicy, 'perHourMax'>,
  takenAtMs: Readonly<Record<string, number>>,
  name: string,
  nowMs: number,
): Readonly<Record<string, number>> | null {
  const within = Object.entries(takenAtMs).filter(([, atMs]) => nowMs - atMs < HOUR_MS);
  const taken = Object.fromEntries(within);
  if (name in taken) return taken;
  return within.length >= perHourMax ? null : { ...taken, [name]: nowMs };
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

/** Begins the reason of each host that is closed for a verdict: what has another reason is an operator's, and is left alone. */
export const CLOSED_REASON = 'at fault: ';

/** For a verdict. */
export function isClosedForFault({ state, reason }: Pick<Eligibility, 'state' | 'reason'>): boolean {
  return (state === 'quarantined' || state === 'draining') && reason.startsWith(CLOSED_REASON);
}

/** The pool of a host; empty: it names none. */
export function poolOf({ attributes }: { readonly attributes: Readonly<Record<string, string>> }): string {
  return attributes[POOL_ATTRIBUTE] ?? '';
}
