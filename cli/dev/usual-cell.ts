import type { SchedulerKind } from '../../src/core/cell/job.ts';

/** How many of what a development cell has. */
export interface CellSize {
  readonly hosts: number;
  readonly monitors: number;
  readonly arbiters: number;
  /** A scheduler each: several of one kind compete. */
  readonly schedulers: readonly SchedulerKind[];
}

/** Two schedulers are of one kind, so that they compete. */
export const USUAL_CELL: CellSize = {
  ...{ hosts: 3, monitors: 2, arbiters: 2 },
  schedulers: ['service', 'batch', 'batch', 'system'],
};
