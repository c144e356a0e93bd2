import type { PointResult } from '../../../sim/omega/point/result.ts';
import { simulatedSeconds } from '../../../sim/omega/point/result.ts';
import { schedulersFor } from '../../../sim/omega/figures/measures.ts';
import type { WorkClass } from '../../../sim/omega/workload/workload.ts';
import { WORK_CLASSES } from '../../../sim/omega/workload/workload.ts';
import { mean } from '../../../sim/omega/model/statistics.ts';
import { FOOTNOTES } from './footnotes.ts';
import type { NamedResult } from './named-runs.ts';
import type { Page } from './report.ts';
import type { Plot, PlotSeries } from './plot/plot.ts';
import { SUMMARY_COLUMNS, summaryRows } from './summary.ts';
import type { Workload } from '../workload/workload.ts';

const HOUR_SECONDS = 3600;

/** The report of one workload under one or several designs. */
export function runPage(workload: Workload, results: readonly NamedResult[], partial: string | null): Page {
  const rows = results.flatMap(({ label, result }) => summaryRows(label, result));
  const last = results.at(-1)?.result;
  return {
    title: `Workload: ${workload.name}`,
    lead: `${workload.note}.`,
    partial,
    sections: [
      {
        id: 'run',
        title: results.length === 1 ? 'What happened' : 'The designs beside each other',
        setUp: last === undefined ? '' : setUpOf(last),
        curves: results.map(({ label }) => label),
        comparisons: [],
        table: {
          head: SUMMARY_COLUMNS.map(({ title }) => title),
          rows: rows.map((row) => SUMMARY_COLUMNS.map(({ cell }) => cell(row))),
        },
        plots: [...busynessPlots(results), usePlot(results)],
        notes: [
          'The numbers: run.csv, beside this file.',
          'A monolithic scheduler decides about everything as slowly as about the slower class; multi-path has a decision time for each.',
        ],
      },
    ],
    footnotes: FOOTNOTES,
  };
}

function setUpOf(result: PointResult): string {
  const { spec, hosts } = result;
  const { batch, service } = spec.decision;
  return (
    `${String(hosts)} hosts, ${String(Math.round(simulatedSeconds(result) / 36) / 100)} simulated hours, seed ${String(spec.seed)}; decision time ${String(batch.jobSeconds)} s a job and ` +
    `${String(batch.taskSeconds)} s a task for batch, ${String(service.jobSeconds)} s and ${String(service.taskSeconds)} s for services.`
  );
}

/** Of each class the mean over its schedulers. */
function busynessPlots(results: readonly NamedResult[]): Plot[] {
  return WORK_CLASSES.flatMap((work) => {
    const series = results.flatMap(({ label, result }, colour) => {
      const slices = sliceMeans(result, work);
      return slices === null ? [] : [seriesOf(label, colour, slices, result.sliceSeconds, 1)];
    });
    if (series.length === 0) return [];
    const title = `Busyness of ${work} schedulers`;
    return [{ ...overTime(title, 'share of time deciding'), yMost: 1, series }];
  });
}

function sliceMeans(result: PointResult, work: WorkClass): number[] | null {
  const schedulers = schedulersFor(result, work);
  if (!result.classes.some((one) => one.work === work) || schedulers.length === 0) return null;
  return result.cpuUse.slices.map(
    (_, slice) => mean(schedulers.map(({ busyness }) => busyness.slices[slice] ?? 0)) ?? 0,
  );
}

function usePlot(results: readonly NamedResult[]): Plot {
  return {
    ...overTime('Utilisation of the cell', '% of cpu'),
    yMost: 100,
    series: results.map(({ label, result }, colour) =>
      seriesOf(label, colour, result.cpuUse.slices, result.sliceSeconds, 100),
    ),
  };
}

const overTime = (title: string, yLabel: string) => ({
  ...{ title, yLabel, xLabel: 'simulated time (hours)', xLog: false, yLog: false },
});

function seriesOf(
  label: string,
  colour: number,
  slices: readonly number[],
  sliceSeconds: number,
  times: number,
): PlotSeries {
  return {
    ...{ label, meaning: '', colour, dash: 'solid', marks: true },
    points: slices.map((value, slice) => ({
      x: ((slice + 0.5) * sliceSeconds) / HOUR_SECONDS,
      y: value * times,
    })),
  };
}
