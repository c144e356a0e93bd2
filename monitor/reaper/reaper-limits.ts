import { ORPHAN_MS } from '../../src/core/slots/given-up.ts';
import { OUTCOMES_PER_SLOT_MAX } from '../../src/core/slots/outcomes.ts';

/** How long, and how many, of what the reaper deletes stay. null: for ever, all of them. */
export interface ReaperLimits {
  /** How long a job may be without an owner before its leftovers are finished here. */
  readonly ownerlessMs: number;
  /** How long a lost host's allocation that is to end is kept before its capacity is given back. */
  readonly orphanMs: number;
  /** How long a finished one-off run, its outcome and its output stay. */
  readonly runRetentionMs: number;
  /** How many of these stay: the newest. */
  readonly runsKept: number;
  /** How long any other ended job stays, with its versions, outcomes and output. */
  readonly jobRetentionMs: number | null;
  /** How many of these stay: the newest. */
  readonly jobsKept: number;
  /** How long an earlier version of a job stays, and how many of each job. */
  readonly versionRetentionMs: number | null;
  readonly versionsKept: number | null;
  /** Of each slot of a job. */
  readonly outcomesPerSlot: number | null;
  /** How long the outcomes of a job whose record is gone stay. */
  readonly outcomeRetentionMs: number;
  /** How long a bucket of a budget stays that is full again. */
  readonly fullBucketMs: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export const REAPER_LIMITS: ReaperLimits = {
  ownerlessMs: 60_000,
  orphanMs: ORPHAN_MS,
  runRetentionMs: HOUR_MS,
  runsKept: 10_000,
  jobRetentionMs: 30 * DAY_MS,
  jobsKept: 10_000,
  versionRetentionMs: 90 * DAY_MS,
  versionsKept: 20,
  outcomesPerSlot: OUTCOMES_PER_SLOT_MAX,
  outcomeRetentionMs: DAY_MS,
  fullBucketMs: HOUR_MS,
};
