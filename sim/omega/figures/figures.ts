/**
 * The paper's figures as experiments: each has a set of curves, and a judge that holds them against the paper's statements. A judge says
 * `differs` for a wrong sign, `partly` for the right sign with dips or another amount, and `not measured` when the sweep ends before the
 * paper's place.
 *
 * - `base-spec.ts`: what the runs of all figures have in common; `measures.ts`: what judges read off a result
 * - `monolithic.ts` (5a, 5b, 6a, 6b), `shared-state.ts` (5c, 6c), `two-level.ts` (7), `scaling.ts` (8, 9), `surfaces.ts` (10),
 *   `long-decisions.ts` (12), `lifelike.ts` (13, 14), `elastic.ts` (15, 16)
 */
import type { CellName } from '../workload/cells.ts';
import type { WorkClass } from '../workload/workload.ts';
import type { PointResult } from '../point/result.ts';
import type { PointSpec } from '../point/spec.ts';

/** What may be changed about a figure from outside. */
export interface FigureSettings {
  /** The figure's own without it. */
  readonly cells?: readonly CellName[];
  readonly horizonSeconds?: number;
  readonly seed: number;
  /** Instead of the figure's own swept values. */
  readonly values?: readonly number[];
  /** Multiplies how many jobs are submitted a second, of both classes. */
  readonly arrivalScale: number;
}

/** One of the paper's figures as an experiment of ours. */
export interface Figure {
  readonly id: string;
  /** Other names: figures 5 and 6 of the paper show two sides of the same runs. */
  readonly aliases: readonly string[];
  readonly title: string;
  readonly setUp: string;
  readonly axis: Axis;
  /** The second axis, of a figure that is a surface. */
  readonly rows?: Axis;
  /** The classes whose schedulers are worth a look. */
  readonly classes: readonly WorkClass[];
  /** Absent: measures over the swept values. `speed-ups`: nothing is swept; how much faster elastic jobs became, and the cell over time. */
  readonly shows?: 'speed-ups';
  curves(settings: FigureSettings): readonly Curve[];
  /** Ours beside the paper's statements. Only whole curves are judged. */
  judge(curves: readonly CurveResult[]): readonly Comparison[];
}

export interface Axis {
  readonly label: string;
  readonly logarithmic: boolean;
}

/** Where a curve lies in a surface: which surface, and at which height of its second axis. */
export interface Row {
  readonly surface: string;
  readonly y: number;
}

export interface Curve {
  readonly label: string;
  readonly cell: CellName;
  readonly row?: Row;
  readonly points: readonly { readonly x: number; readonly spec: PointSpec }[];
}

export interface CurveResult {
  readonly label: string;
  readonly cell: CellName;
  readonly row?: Row;
  readonly points: readonly PointAt[];
}

export interface PointAt {
  readonly x: number;
  readonly result: PointResult;
}

export interface Comparison {
  readonly paper: string;
  readonly ours: string;
  readonly agrees: 'agrees' | 'partly' | 'differs' | 'not measured';
  /** Why it differs, as far as we can say; empty when it agrees. */
  readonly why: string;
  /** Which of the paper's main findings this shows; absent: none of them. */
  readonly shape?: string;
}
