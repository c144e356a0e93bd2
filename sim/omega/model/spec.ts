import type { Atomicity, ConflictCheck } from '../../../src/core/commit/plan.ts';
import type { CellShape, DrawnLoad, WorkClass } from '../workload/workload.ts';
import type { PlacementRule } from './placer.ts';

/**
 * - `monolithic`: one scheduler, one queue, straight on the cell
 * - `two-level`: an allocator offers all that is free to one framework at a time and locks it meanwhile (Mesos)
 * - `shared-state`: several schedulers, private copies, optimistic commits (Omega, Moorage)
 */
export const DESIGNS = ['monolithic', 'two-level', 'shared-state'] as const;
export type Design = (typeof DESIGNS)[number];

/** Decision time: `jobSeconds` and `taskSeconds` for each task that is still without a place. */
export interface DecisionTime {
  readonly jobSeconds: number;
  readonly taskSeconds: number;
}

/** What a job does that is not wholly placed after an attempt. */
export interface RetryRule {
  /** Back into the queue, at its end, after so long. */
  readonly delaySeconds: number;
  /** true: a job without a place waits until so much is free that it might fit. */
  readonly waitsForRoom: boolean;
  /** Given up after more tries than this with nothing placed. */
  readonly emptyTriesMax: number;
  /** Given up after more tries than this. */
  readonly triesMax: number;
}

/** As Omega's simulator does it. */
export const OMEGA_RETRY: RetryRule = {
  delaySeconds: 1,
  waitsForRoom: false,
  emptyTriesMax: 100,
  triesMax: 1_000,
};

/** For traces that fill a cell for hours: no job is given up, and none is tried again before something was freed. */
export const PATIENT_RETRY: RetryRule = {
  delaySeconds: 1,
  waitsForRoom: true,
  emptyTriesMax: Number.MAX_SAFE_INTEGER,
  triesMax: Number.MAX_SAFE_INTEGER,
};

/** What schedulers of one run need to know: the cell, its load, their design and rules. */
export interface ModelSpec {
  readonly cell: CellShape;
  /** null: the jobs come from a trace. */
  readonly load: DrawnLoad | null;
  /** Multiplies how many jobs are submitted a second. */
  readonly arrivalScale: Readonly<Record<WorkClass, number>>;
  readonly design: Design;
  /** Schedulers of each class; a monolithic one works on both. */
  readonly schedulers: Readonly<Record<WorkClass, number>>;
  readonly decision: Readonly<Record<WorkClass, DecisionTime>>;
  readonly conflictCheck: ConflictCheck;
  readonly atomicity: Atomicity;
  /** Does the end of a task move its host's revision, as it does in our store? In Omega's simulator it does not. */
  readonly endsMove: boolean;
  readonly placement: PlacementRule;
  readonly retry: RetryRule;
  readonly horizonSeconds: number;
  readonly seed: number;
}
