/**
 * How far the update of a job to a version has come, as its owner saw it last. All else of an update follows from the job's
 * allocations and outcomes, so that another owner goes on where the last one stopped.
 */
export interface RolloutRecord {
  readonly version: number;
  readonly state: RolloutState;
  readonly sinceMs: number;
  /** Why it failed, or what it waits for; empty when it is done. */
  readonly reason: string;
  /** The last version of which all was up; absent: none was seen to be. */
  readonly good?: number;
}

/** `failed`: nothing more is replaced, unless what it failed for gets well. `done`: final for the version. */
export const ROLLOUT_STATES = ['updating', 'failed', 'done'] as const;
export type RolloutState = (typeof ROLLOUT_STATES)[number];
