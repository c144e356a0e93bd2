import type { PointResult, Series } from '../../sim/omega/model/result.ts';
import { FOOTNOTES } from './footnotes.ts';
import type { Page } from './plot/page.ts';
import type { Plot, PlotSeries } from './plot/svg.ts';
import { SUMMARY_COLUMNS, summaryRows } from './summary.ts';
import type { Workload } from './workload.ts';

export interface NamedResult {
  readonly label: string;
  readonly result: PointResult;
}

const HOUR_SECONDS = 3600;
/** A line for each scheduler as long as they can be told apart. */
const LINES_MAX = 7;

/** The report of one workload under one or several designs. */
export function runPage(workload: Workload, results: readonly NamedResult[], partial: string | null): Page {
  const rows = results.flatMap(({ label, result }) => summaryRows(label, result));
  const first = results[0]?.result;
  return {
    title: `Workload: ${workload.name}`,
    lead: `${workload.note}; simulated ${String(Math.round(workload.horizonSeconds / 36) / 100)} hours unless said otherwise.`,
    partial,
    sections: [
      {
        id: 'run',
        title: results.length === 1 ? 'What happened' : 'The designs beside each other',
        setUp: first === undefined ? '' : setUpOf(first),
        curves: results.map(({ label }) => label),
        verdicts: [],
        table: {
          head: SUMMARY_COLUMNS.map(({ title }) => title),
          rows: rows.map((row) => SUMMARY_COLUMNS.map(({ cell }) => cell(row))),
        },
        plots: [...busynessPlots(results), usePlot(results)],
        notes: ['The numbers: run.csv, beside this file.'],
      },
    ],
    footnotes: FOOTNOTES,
  };
}

function setUpOf({ spec, hosts }: PointResult): string {
  const { batch, service } = spec.decision;
  return (
    `${String(hosts)} hosts, seed ${String(spec.seed)}; decision time ${String(batch.jobSeconds)} s a job and ` +
    `${String(batch.taskSeconds)} s a task for batch, ${String(service.jobSeconds)} s and ${String(service.taskSeconds)} s for services.`
  );
}

function busynessPlots(results: readonly NamedResult[]): Plot[] {
  return results.map(({ label, result }) => {
    const shown = result.schedulers.slice(0, LINES_MAX);
    const rest = result.schedulers.length - shown.length;
    return {
      ...overTime(
        `Busyness, ${label}${rest === 0 ? '' : ` (first ${String(LINES_MAX)} schedulers)`}`,
        'share of time deciding',
      ),
      yMost: 1,
      series: shown.map((one, colour) => seriesOf(one.name, colour, one.busyness, result.sliceSeconds, 1)),
    };
  });
}

function usePlot(results: readonly NamedResult[]): Plot {
  return {
    ...overTime('Utilisation of the cell', '% of cpu'),
    yMost: 100,
    series: results.map(({ label, result }, colour) =>
      seriesOf(label, colour, result.cpuUse, result.sliceSeconds, 100),
    ),
  };
}

const overTime = (title: string, yLabel: string) => ({
  ...{ title, yLabel, xLabel: 'simulated time (hours)', xLog: false, yLog: false },
});

function seriesOf(
  label: string,
  colour: number,
  series: Series,
  sliceSeconds: number,
  times: number,
): PlotSeries {
  return {
    ...{ label, colour, dash: 'solid', marks: true },
    points: series.slices.map((value, slice) => ({
      x: ((slice + 0.5) * sliceSeconds) / HOUR_SECONDS,
      y: value * times,
    })),
  };
}
