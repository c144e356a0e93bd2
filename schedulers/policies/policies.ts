import type { SchedulerKind } from '../../src/core/cell/job.ts';
import type { PlacementPolicy } from '../../src/core/scoring/policy.ts';

/** What one kind of scheduler does differently. The loop is the same for all. */
export interface SchedulerPolicy {
  readonly kind: SchedulerKind;
  readonly placement: PlacementPolicy;
  /**
   * Placements decided for one job before the next job has its turn. Small means fair, large means that fewer
   * evaluations and plans carry the same number of placements.
   */
  readonly sliceMax: number;
}
