import type { Allocation, DesiredState, Outcome } from '../cell/allocation.ts';
import type { EligibilityState, FenceAnswers, Host, LostHost } from '../host/host.ts';
import type { Group, Job, JobRecord } from '../cell/job.ts';
import type { RolloutRecord } from '../cell/rollout.ts';
import type { AllocationReport } from '../host/report.ts';
import type { BudgetKind } from '../quota/budgets.ts';

/** What is known of one job when its slots are evaluated. */
export interface JobView {
  readonly record: JobRecord;
  /** Allocations in the store, and those decided and not yet committed. */
  readonly live: readonly LiveAllocation[];
  /** Oldest first within a slot. */
  readonly outcomes: readonly Outcome[];
  /** Specs by version; the current one need not be among them. */
  readonly versions: ReadonlyMap<number, Job>;
  readonly hostCondition: (host: string) => HostCondition;
  /** The record of a host; undefined: it is not registered. */
  readonly hostOf: (host: string) => Host | undefined;
  /** How far the update to this version was seen to be; null: nothing is recorded. */
  readonly rollout: RolloutRecord | null;
  /** For how long it has run without a restart, as far as is known; asked of what is up now. */
  readonly upForMs: (live: LiveAllocation) => number;
  /** For `system` jobs: the hosts that satisfy the group's constraints. */
  readonly matching: (group: Group) => readonly MatchingHost[];
  /** Does the host report now, so that what it runs is known? Absent: all do. */
  readonly isReporting?: (host: string) => boolean;
  /** What operators have paused of updates; absent: nothing. */
  readonly rolloutPause?: RolloutPause;
  /**
   * How many instances an elastic group should have, of `has` that it has. Absent: its scheduler is not elastic, and runs the
   * minimum.
   */
  readonly elasticTarget?: (group: Group, has: number) => number;
  /** An operator has paused placement for the job: what is stopped would not be started again. Absent: nobody has. */
  readonly isPaused?: () => boolean;
  /** Would the host take one more of the group, if that allocation left its own? Absent: all would. */
  readonly takes?: (group: Group, host: string, allocation: string) => boolean;
  /** Have the cell's budgets a token for that? Absent: nothing is bounded. */
  readonly isAffordable?: (kind: BudgetKind, allocation: Allocation) => boolean;
  readonly nowMs: number;
}

/** What waits for a token of one of the cell's budgets. */
export interface BudgetAsk {
  readonly kind: BudgetKind;
  readonly allocation: Allocation;
  /** So many of its group can use one now, whichever have one first. Absent: all. */
  readonly most?: number;
}

export interface RolloutPause {
  /** Why nothing of the job on the host is replaced by a newer version, for people; null: it may be. */
  on(host: string): string | null;
  /** When the last pause of the whole job ended; 0: there was none. */
  readonly endedAtMs: number;
}

export interface LiveAllocation {
  readonly allocation: Allocation;
  readonly report: AllocationReport | null;
  /** Taken over from another owner, and its host has not said yet what became of it: it may well run. */
  readonly isUnverified?: boolean;
  /** When its owner wrote that it is to end, on the wall clock; null: it did not, or an owner before it did. */
  readonly stoppedAtMs?: number | null;
}

/** One whose claim is released without the word of its host. */
export interface GivenUp extends LiveAllocation {
  /** Somebody else answers for it that it runs no more. */
  readonly isFenced?: boolean;
}

export interface HostCondition {
  readonly state: EligibilityState;
  readonly drainDeadlineMs: number | null;
  /** It has no session: nobody knows what runs there. */
  readonly isSilent?: true;
  /** Of a lost host: for how long it has surely had no contact to the cell. Absent: unknown. */
  readonly cutOffMs?: number;
  /** Of a lost host: since when it is, on the wall clock. Absent: unknown. */
  readonly lostSinceMs?: number;
  /** Of a lost host: the mod revision of the eligibility that says so. Absent: no commit depends on it. */
  readonly lostRevision?: number;
  /** Of a lost host: when what is to end there is given up. Absent: not here. */
  readonly givenUpAtMs?: number;
  /** Of a lost host: an operator has removed it, and all that was there is given up. */
  readonly isRemoved?: boolean;
  /** Of a lost host: an operator has said so, or has removed it. */
  readonly isConfirmed?: boolean;
  /** Of a lost host: what its fences answered; `all`: it is taken for fenced. Absent: nothing. */
  readonly fences?: FenceAnswers | 'all';
}

export interface MatchingHost {
  readonly host: string;
  /** Alive, and takes new work. */
  readonly ready: boolean;
}

/** A slot that wants an allocation. */
export interface Fill {
  readonly group: string;
  readonly index: number;
  readonly attempt: number;
  readonly replaces?: string;
  readonly avoidHosts: readonly string[];
  /** Not before this time: the delay after a failure. */
  readonly notBeforeMs: number;
  /** Since when the slot waits, for `waitMaxMs`. */
  readonly sinceMs: number;
  /** The only possible host: of a `system` job, or of a slot that no drain moves. */
  readonly host?: string;
  /** Above the minimum of an elastic group: it takes what is idle, and waits for nothing. */
  readonly surplus?: true;
  /** Where it is to be, if that host takes it. */
  readonly prefersHost?: string;
  /** The slot is vacant only because these are lost: what its earlier allocations do there does not count. Absent: none. */
  readonly standsFor?: readonly LostHost[];
}

export interface Stop {
  readonly allocation: Allocation;
  readonly mode: Exclude<DesiredState, 'run'>;
  readonly cause: string;
}

export interface Evaluation {
  readonly fills: readonly Fill[];
  /** Surplus that elastic groups could use now. */
  readonly grows: readonly Fill[];
  readonly stops: readonly Stop[];
  /** Their hosts have released them. */
  readonly releases: readonly LiveAllocation[];
  /** Their hosts are lost and given up: they are released without the hosts' word. */
  readonly givenUp: readonly GivenUp[];
  /** Waited longer than the group allows; each gets an outcome. */
  readonly unplaceable: readonly Fill[];
  /** What would be done now if the cell could afford it. */
  readonly asks: readonly BudgetAsk[];
  /** Of groups of which an update is under way. */
  readonly rollouts: readonly Rollout[];
  /** How far the update of the whole job is; null: none is watched. */
  readonly rollout: Pick<RolloutRecord, 'state' | 'reason'> | null;
  /** When to evaluate again without a change; null: not before a change. */
  readonly nextAtMs: number | null;
  /** Set when no allocation is left and none is wanted. */
  readonly finished: 'complete' | 'failed' | 'stopped' | null;
}

/** The roll-out of one group: allocations of another version than the present one, which does not run the same. */
export interface Rollout {
  readonly group: string;
  readonly version: number;
  /** How many are still to be replaced; 0: those that were are not up yet. */
  readonly outdated: number;
  /** Why it does not go on yet, for people; null: it does. */
  readonly waitsFor: string | null;
  /** It went wrong, and `waitsFor` says how. */
  readonly failed: boolean;
}

/** Why a scheduler ended an allocation; the value of `cause` begins with one of these. */
export const CAUSES = {
  user: 'stopped by user',
  version: 'replaced by version',
  scaledDown: 'scaled down',
  hostLost: 'host lost',
  draining: 'host is draining',
  duplicate: 'duplicate of',
  notMatching: 'host no longer matches',
  moved: 'moved',
  unplaceable: 'unplaceable',
  evicted: 'evicted by',
  gangBroken: 'gang begins again',
} as const;

/** Was it stopped because its gang is placed again as a whole? */
export function isOfBrokenGang({ cause }: Pick<Allocation, 'cause'>): boolean {
  return cause?.startsWith(CAUSES.gangBroken) === true;
}

/** An evaluation that is being built, group by group. */
export interface EvaluationDraft {
  readonly fills: Fill[];
  readonly grows: Fill[];
  readonly stops: Stop[];
  readonly unplaceable: Fill[];
  readonly asks: BudgetAsk[];
  readonly rollouts: Rollout[];
  nextAtMs: number | null;
  /** Some slot is neither complete nor failed for good. */
  open: boolean;
  failed: boolean;
}

/** Is there a token for that? Else it is asked for, and the allocation stays for now. */
export function canAfford(
  { isAffordable }: JobView,
  kind: BudgetKind,
  allocation: Allocation,
  draft: EvaluationDraft,
): boolean {
  if (isAffordable?.(kind, allocation) !== false) return true;
  draft.asks.push({ kind, allocation });
  return false;
}

/** The earlier of two times, where null is never. */
export function earlier(a: number | null, b: number | null): number | null {
  if (a === null) return b;
  return b === null ? a : Math.min(a, b);
}
