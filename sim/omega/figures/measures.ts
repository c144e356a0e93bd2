import type { WorkClass } from '../workload/workload.ts';
import type { PointResult, SchedulerResult } from '../point/result.ts';
import { mean } from '../model/statistics.ts';
import type { CurveResult, PointAt, Comparison } from './figures.ts';

/** Busier than this, or with more of its jobs left over than this share, a scheduler is saturated. */
const SATURATED_BUSYNESS = 0.99;
const SATURATED_LEFT = 0.02;

export function schedulersFor(result: PointResult, work: WorkClass): readonly SchedulerResult[] {
  return result.schedulers.filter((one) => one.work === work || one.work === 'all');
}

/** A measure of the class's schedulers, the mean over them; null when none has it. */
export function overSchedulers(
  result: PointResult,
  work: WorkClass,
  of: (one: SchedulerResult) => number | null,
): number | null {
  return mean(schedulersFor(result, work).flatMap((one) => of(one) ?? []));
}

export const busynessOf = (result: PointResult, work: WorkClass): number =>
  overSchedulers(result, work, (one) => one.busyness.median) ?? 0;

/** Failed for each successful transaction, over all schedulers of the class. */
export function conflictFractionOf(result: PointResult, work: WorkClass): number | null {
  let [succeeded, failed] = [0, 0];
  for (const one of schedulersFor(result, work)) {
    succeeded += one.succeeded;
    failed += one.failed;
  }
  return succeeded + failed === 0 ? null : failed / Math.max(1, succeeded);
}

export function waitOf(result: PointResult, work: WorkClass): number | null {
  return result.classes.find((one) => one.work === work)?.waitMean ?? null;
}

/** Share of the class's jobs that were given up or had no place at the end. */
export function leftShare(result: PointResult, work: WorkClass): number {
  const found = result.classes.find((one) => one.work === work);
  return found === undefined || found.submitted === 0 ? 0 : 1 - found.placed / found.submitted;
}

export function isSaturated(result: PointResult, work: WorkClass): boolean {
  const busiest = Math.max(0, ...schedulersFor(result, work).map(({ occupied }) => occupied.median));
  return busiest >= SATURATED_BUSYNESS || leftShare(result, work) >= SATURATED_LEFT;
}

/** Between which swept values the class's scheduler becomes saturated; `to` is infinite when it never does. */
export function saturation(
  curve: CurveResult,
  work: WorkClass,
): { readonly from: number; readonly to: number } {
  const at = curve.points.findIndex(({ result }) => isSaturated(result, work));
  if (at < 0) return { from: curve.points.at(-1)?.x ?? 0, to: Infinity };
  return { from: curve.points[at - 1]?.x ?? 0, to: curve.points[at]?.x ?? 0 };
}

export function saturationText({ from, to }: { readonly from: number; readonly to: number }): string {
  return to === Infinity ? `not up to ${number(from)}` : `between ${number(from)} and ${number(to)}`;
}

export const pointAt = (curve: CurveResult | undefined, x: number): PointAt | undefined =>
  curve?.points.find((point) => Math.abs(point.x - x) < 1e-9);

/** Points whose schedulers keep up. */
export const steady = (curve: CurveResult, work: WorkClass): readonly PointAt[] =>
  curve.points.filter(({ result }) => !isSaturated(result, work));

/** Less is as good as nothing: seconds from milliseconds are not exact. */
const NOTHING = 1e-6;

/** Three digits that matter. */
export function number(value: number | null): string {
  if (value === null) return 'none';
  if (Math.abs(value) < NOTHING) return '0';
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(size >= 100 ? 3 : 2)));
}

export const percent = (share: number): string => `${number(100 * share)} %`;

/** Does `value` grow from point to point, but for a slack that chance may take? */
export function grows(values: readonly number[], slack: number): boolean {
  return values.every((value, at) => at === 0 || value >= (values[at - 1] as number) - slack);
}

/** How far a measure that should rise from point to point does: it ends higher but dips on the way, or it ends no higher at all. */
export function rising(values: readonly number[], slack: number): Comparison['agrees'] {
  const [first, last] = [values[0] ?? 0, values.at(-1) ?? 0];
  if (last <= first) return 'differs';
  return grows(values, slack) ? 'agrees' : 'partly';
}

/** The same of one that should fall. */
export const falling = (values: readonly number[]): Comparison['agrees'] =>
  rising(
    values.map((value) => -value),
    0,
  );

/** Failed transactions of the class over all the points. */
export function failuresIn(points: readonly PointAt[], work: WorkClass): number {
  return points
    .flatMap(({ result }) => schedulersFor(result, work))
    .reduce((sum, one) => sum + one.failed, 0);
}

/** How many conflicts make up a rise or a fall. */
export const conflictsBehind = (points: readonly PointAt[], work: WorkClass): string =>
  `${number(failuresIn(points, work))} conflicts in all make up these figures; where they come from was not examined`;

export function comparison(
  paper: string,
  ours: string,
  agrees: Comparison['agrees'],
  why: string,
): Comparison {
  return { paper, ours, agrees, why: agrees === 'agrees' ? '' : why };
}

/** One of the paper's shapes, which the report lists together. */
export const asShape = (shape: string, judged: Comparison): Comparison => ({ ...judged, shape });

export const notMeasured = (paper: string, why: string): Comparison => ({
  ...{ paper, ours: 'not in these runs', agrees: 'not measured', why },
});
