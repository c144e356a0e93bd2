/**
 * The kinds of scheduler, and what one is started with. A new kind: one more policy file like `batch.ts`, `service.ts`, `system.ts` and
 * `elastic.ts`, its line in `POLICIES` of `options.ts`, and its name, which has no dash, in `SCHEDULER_KINDS` of
 * `src/core/cell/job.ts`, from which jobs, CLI and role records take it. A job's `scheduler: auto` means the kind of its own
 * type (`JOB_TYPES`), so the new kind gets those jobs that name it. The loop (`decide/`) is the same for all kinds,
 * and what a slot wants goes by the job's type, not by the scheduler's kind.
 *
 * A custom policy, which scores hosts in another way, needs no new kind: `own.ts` gives it to a scheduler of a kind that there is.
 *
 * `options.ts` completes the settings of a scheduler with the policy of its kind.
 */
import type { SchedulerKind } from '../../src/core/cell/job.ts';
import type { PlacementPolicy } from '../../src/core/scoring/policy.ts';

/** What one kind of scheduler does differently. */
export interface SchedulerPolicy {
  readonly kind: SchedulerKind;
  readonly placement: PlacementPolicy;
  /**
   * Placements decided for one job before the next job. Small means fair, large means that fewer evaluations and plans carry
   * the same number of placements.
   */
  readonly sliceMax: number;
}
