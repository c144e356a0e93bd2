import type { Axis, CurveResult, PointAt } from '../../../../sim/omega/figures/figures.ts';
import { conflictFractionOf, leftShare, overSchedulers } from '../../../../sim/omega/figures/measures.ts';
import type { WorkClass } from '../../../../sim/omega/workload/workload.ts';
import type { ClassResult, SchedulerResult } from '../../../../sim/omega/point/result.ts';
import type { Plot, PlotPoint, PlotSeries } from './plot.ts';

/** The service level that the paper measures waits by. */
const SLO_SECONDS = 30;

/** The plots of one experiment: what the schedulers do, how long jobs wait, what is left over, how full the cell is. */
export function panelsOf(axis: Axis, classes: readonly WorkClass[], curves: readonly CurveResult[]): Plot[] {
  const anyOf = (test: (one: SchedulerResult) => boolean): boolean =>
    curves.some(({ points }) => points.some(({ result }) => result.schedulers.some(test)));
  const shared = anyOf(({ work }) => work === 'all');
  const conflicts = anyOf(({ failed }) => failed > 0);
  const plots: Plot[] = [];
  for (const [number, work] of classes.entries()) {
    if (!shared || number === 0) plots.push(busyness(axis, work, curves, shared));
    plots.push(waits(axis, work, curves));
    if (conflicts && !shared) plots.push(conflictFractions(axis, work, curves));
  }
  plots.push(leftOver(axis, classes, curves), utilisation(axis, curves));
  return plots;
}

const frame = (axis: Axis): Pick<Plot, 'xLabel' | 'xLog'> => ({ xLabel: axis.label, xLog: axis.logarithmic });

function busyness(axis: Axis, work: WorkClass, curves: readonly CurveResult[], shared: boolean): Plot {
  const measured = seriesOf(curves, 'solid', 'measured', ({ result }) => {
    const y = overSchedulers(result, work, (one) => one.busyness.median);
    const deviation = overSchedulers(result, work, (one) => one.busyness.deviation) ?? 0;
    return y === null ? null : { y, deviation };
  });
  const plain = seriesOf(curves, 'dashed', 'without conflicts', ({ result }) => {
    const y = overSchedulers(result, work, (one) => one.noConflictBusyness);
    // What no scheduler could do is off the picture.
    return y === null || y > 1 ? null : { y };
  });
  return {
    ...frame(axis),
    title: shared ? 'Scheduler busyness' : `Busyness, ${work} scheduler`,
    yLabel: 'share of time deciding',
    yLog: false,
    yMost: 1,
    series: [...measured, ...plain],
  };
}

function waits(axis: Axis, work: WorkClass, curves: readonly CurveResult[]): Plot {
  const of = (pick: (one: ClassResult) => number | null) => {
    return ({ result }: PointAt): { y: number } | null => {
      const found = result.classes.find((one) => one.work === work);
      const y = found === undefined ? null : pick(found);
      return y === null ? null : { y };
    };
  };
  return {
    ...frame(axis),
    title: `Wait of ${work} jobs until the first try`,
    yLabel: 'seconds',
    yLog: true,
    rule: { y: SLO_SECONDS, label: '30 s' },
    series: [
      ...seriesOf(
        curves,
        'solid',
        'mean',
        of((one) => one.waitMean),
      ),
      ...seriesOf(
        curves,
        'dashed',
        '90th percentile',
        of((one) => one.waitP90),
      ),
    ],
  };
}

function conflictFractions(axis: Axis, work: WorkClass, curves: readonly CurveResult[]): Plot {
  const series = seriesOf(curves, 'solid', '', ({ result }) => {
    const y = conflictFractionOf(result, work);
    return y === null ? null : { y };
  });
  return {
    ...frame(axis),
    title: `Conflict fraction, ${work}`,
    yLabel: 'failed for each successful transaction',
    yLog: false,
    yMost: 0.01,
    series,
  };
}

function leftOver(axis: Axis, classes: readonly WorkClass[], curves: readonly CurveResult[]): Plot {
  const series = classes.flatMap((work, number) =>
    seriesOf(curves, number === 0 ? 'solid' : 'dashed', `${work} jobs`, ({ result }) => ({
      y: 100 * leftShare(result, work),
    })),
  );
  return {
    ...frame(axis),
    title: 'Unscheduled jobs: given up or left at the end',
    yLabel: '% of the jobs submitted',
    yLog: false,
    yMost: 1,
    series,
  };
}

function utilisation(axis: Axis, curves: readonly CurveResult[]): Plot {
  const series = seriesOf(curves, 'solid', 'cpu', ({ result }) => ({
    ...{ y: 100 * result.cpuUse.median, deviation: 100 * result.cpuUse.deviation },
  }));
  const memory = seriesOf(curves, 'dashed', 'memory', ({ result }) => ({ y: 100 * result.memoryUse.median }));
  return {
    ...frame(axis),
    title: 'Utilisation of the cell',
    yLabel: '% of the whole cell',
    yLog: false,
    yMost: 100,
    series: [...series, ...memory],
  };
}

/** One line for each curve; a point without the measure is left out. */
function seriesOf(
  curves: readonly CurveResult[],
  dash: PlotSeries['dash'],
  meaning: string,
  measure: (point: PointAt) => Omit<PlotPoint, 'x'> | null,
): PlotSeries[] {
  return curves.map((curve, colour) => ({
    label: meaning === '' ? curve.label : `${curve.label}, ${meaning}`,
    meaning,
    colour,
    dash,
    marks: dash === 'solid',
    points: curve.points.flatMap((point) => {
      const value = measure(point);
      return value === null ? [] : [{ x: point.x, ...value }];
    }),
  }));
}
