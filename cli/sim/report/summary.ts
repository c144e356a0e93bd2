import type { PointResult, SchedulerResult } from '../../../sim/omega/point/result.ts';
import { conflictFractionOf, number, overSchedulers, percent } from '../../../sim/omega/figures/measures.ts';
import type { Column } from '../../output/table.ts';

/** One class of one run, as a line of a table. */
export interface SummaryRow {
  readonly label: string;
  readonly work: 'batch' | 'service';
  readonly result: PointResult;
}

export function summaryRows(label: string, result: PointResult): SummaryRow[] {
  return result.classes.map(({ work }) => ({ label, work, result }));
}

const average = ({ result, work }: SummaryRow, of: (one: SchedulerResult) => number | null): string =>
  number(overSchedulers(result, work, of));

const seconds = (value: number | null): string => (value === null ? 'none' : `${number(value)}s`);

const ofClass = ({ result, work }: SummaryRow) => result.classes.find((one) => one.work === work)!;

export const SUMMARY_COLUMNS: readonly Column<SummaryRow>[] = [
  { title: 'RUN', cell: (row) => row.label },
  { title: 'CLASS', cell: (row) => row.work },
  { title: 'JOBS', cell: (row) => String(ofClass(row).submitted), align: 'right' },
  { title: 'PLACED', cell: (row) => String(ofClass(row).placed), align: 'right' },
  { title: 'GIVEN-UP', cell: (row) => String(ofClass(row).abandoned), align: 'right' },
  { title: 'LEFT', cell: (row) => String(ofClass(row).waiting), align: 'right' },
  { title: 'BUSY', cell: (row) => average(row, (one) => one.busyness.median), align: 'right' },
  { title: 'MAD', cell: (row) => average(row, (one) => one.busyness.deviation), align: 'right' },
  { title: 'NO-CONFLICT', cell: (row) => average(row, (one) => one.noConflictBusyness), align: 'right' },
  { title: 'CONFLICTS', cell: (row) => number(conflictFractionOf(row.result, row.work)), align: 'right' },
  { title: 'WAIT-MEAN', cell: (row) => seconds(ofClass(row).waitMean), align: 'right' },
  { title: 'WAIT-P90', cell: (row) => seconds(ofClass(row).waitP90), align: 'right' },
  { title: 'PLACED-MEAN', cell: (row) => seconds(ofClass(row).placedMean), align: 'right' },
  { title: 'CPU-USE', cell: (row) => percent(row.result.cpuUse.mean), align: 'right' },
];
