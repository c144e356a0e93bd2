import type { ElasticResult } from '../../../sim/omega/elastic/meter.ts';
import type { CurveResult } from '../../../sim/omega/figures/figures.ts';
import { conflictFractionOf, overSchedulers, schedulersFor } from '../../../sim/omega/figures/measures.ts';
import type { ClassResult, PointResult, SchedulerResult } from '../../../sim/omega/point/result.ts';
import { simulatedSeconds } from '../../../sim/omega/point/result.ts';

type Cell = string | number | null;

/** What stands in a row, of one class of one point; means are over the schedulers of the class. */
const COLUMNS: readonly (readonly [title: string, of: (result: PointResult, one: ClassResult) => Cell])[] = [
  ['class', (_, one) => one.work],
  ['design', ({ spec }) => spec.design],
  ['conflict_check', ({ spec }) => spec.conflictCheck],
  ['atomicity', ({ spec }) => spec.atomicity],
  ['schedulers', (result, one) => schedulersFor(result, one.work).length],
  ['hosts', ({ hosts }) => hosts],
  ['simulated_seconds', simulatedSeconds],
  ['seed', ({ spec }) => spec.seed],
  ['busyness_median', average((one) => one.busyness.median)],
  ['busyness_mad', average((one) => one.busyness.deviation)],
  ['occupied_median', average((one) => one.occupied.median)],
  ['busyness_without_conflicts', average((one) => one.noConflictBusyness)],
  ['wasted_share', average((one) => one.wasted)],
  ['conflict_fraction', (result, one) => conflictFractionOf(result, one.work)],
  ['task_conflict_fraction', average((one) => one.taskConflictFraction)],
  ['transactions_succeeded', sum((one) => one.succeeded)],
  ['transactions_failed', sum((one) => one.failed)],
  ['tasks_rebased', sum((one) => one.tasksRebased)],
  ['jobs_submitted', (_, one) => one.submitted],
  ['jobs_placed', (_, one) => one.placed],
  ['jobs_abandoned', (_, one) => one.abandoned],
  ['jobs_left', (_, one) => one.waiting],
  ['tasks_submitted', (_, one) => one.tasksSubmitted],
  ['tasks_placed', (_, one) => one.tasksPlaced],
  ['wait_mean_seconds', (_, one) => one.waitMean],
  ['wait_p90_seconds', (_, one) => one.waitP90],
  ['placed_mean_seconds', (_, one) => one.placedMean],
  ['placed_p90_seconds', (_, one) => one.placedP90],
  ['bounded_slowdown_mean', (_, one) => one.slowdownMean],
  ['cpu_use_mean', ({ cpuUse }) => cpuUse.mean],
  ['memory_use_mean', ({ memoryUse }) => memoryUse.mean],
];

/** @param xTitle what is swept */
export function csvOf(xTitle: string, curves: readonly CurveResult[]): string {
  const rows: Cell[][] = [['curve', xTitle, ...COLUMNS.map(([title]) => title)]];
  for (const { label, points } of curves) {
    for (const { x, result } of points) {
      for (const one of result.classes) rows.push([label, x, ...COLUMNS.map(([, of]) => of(result, one))]);
    }
  }
  return rows.map(lineOf).join('');
}

/** How much faster elastic jobs became: a row for each quantile of each curve. Empty: no curve has any. */
export function speedUpsCsv(curves: readonly CurveResult[]): string {
  return elasticCsv(['curve', 'cell', 'policy', 'share_of_jobs', 'speed_up'], curves, ({ speedUps }) =>
    speedUps.map((speedUp, at) => [at / Math.max(1, speedUps.length - 1), speedUp]),
  );
}

/** How full the cell was, by the minute. Empty: no curve has elastic jobs. */
export function useCsv(curves: readonly CurveResult[]): string {
  const head = ['curve', 'cell', 'policy', 'seconds', 'cpu_use', 'memory_use'];
  return elasticCsv(head, curves, ({ cpuUse, memoryUse, useSliceSeconds }) =>
    cpuUse.map((share, at) => [at * useSliceSeconds, share, memoryUse[at] ?? null]),
  );
}

function elasticCsv(
  head: readonly string[],
  curves: readonly CurveResult[],
  rowsOf: (elastic: ElasticResult) => readonly (readonly Cell[])[],
): string {
  const rows = curves.flatMap(({ label, cell, points }) =>
    points.flatMap(({ result: { elastic } }) =>
      elastic === null ? [] : rowsOf(elastic).map((row) => [label, cell, elastic.policy, ...row]),
    ),
  );
  return rows.length === 0 ? '' : [head, ...rows].map(lineOf).join('');
}

const lineOf = (row: readonly Cell[]): string => `${row.map(cellText).join(',')}\n`;

function average(of: (one: SchedulerResult) => number | null) {
  return (result: PointResult, { work }: ClassResult): Cell => overSchedulers(result, work, of);
}

function sum(of: (one: SchedulerResult) => number) {
  return (result: PointResult, { work }: ClassResult): Cell =>
    schedulersFor(result, work).reduce((total, one) => total + of(one), 0);
}

const DIGITS = 6;

function cellText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number')
    return Number.isInteger(cell) ? String(cell) : String(Number(cell.toPrecision(DIGITS)));
  return /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
