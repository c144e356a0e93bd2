import type { Axis, CurveResult } from '../../../../sim/omega/figures/figures.ts';
import type { ElasticResult } from '../../../../sim/omega/elastic/meter.ts';
import type { Plot, PlotSeries } from './plot.ts';

const HOUR_SECONDS = 3600;

interface ElasticCurve {
  readonly elastic: ElasticResult;
  readonly colour: number;
}

/** For each cell: how much faster elastic jobs became under each policy, and how full the cell was without and with growth. */
export function elasticPlots(axis: Axis, curves: readonly CurveResult[]): Plot[] {
  return [...new Set(curves.map(({ cell }) => cell))].flatMap((cell) => {
    const own = curves
      .filter((curve) => curve.cell === cell)
      .flatMap(({ points }, colour): ElasticCurve[] => {
        const elastic = points[0]?.result.elastic;
        return elastic == null ? [] : [{ elastic, colour }];
      });
    const grown = own.filter(({ elastic }) => elastic.policy !== 'as-asked');
    const compared = own.filter(
      ({ elastic: { policy } }) => policy === 'as-asked' || policy === 'max-parallelism',
    );
    return [
      {
        ...{
          title: `Figure 15: speed-up of MapReduce jobs, cell ${cell}`,
          xLabel: axis.label,
          xLog: axis.logarithmic,
        },
        ...{ yLabel: 'share of the jobs', yLog: false, yMost: 1, series: grown.map(speedUps) },
      },
      {
        ...{ title: `Figure 16: utilisation, cell ${cell}`, xLabel: 'simulated time (hours)', xLog: false },
        ...{ yLabel: '% of cpu', yLog: false, series: compared.map(useOverTime) },
      },
    ];
  });
}

const plain = (elastic: ElasticResult, colour: number): Omit<PlotSeries, 'points'> => ({
  ...{ label: elastic.policy, meaning: '', colour, dash: 'solid', marks: false },
});

/** The distribution of the speed-ups, as a curve that reaches 1 at the largest. */
function speedUps({ elastic, colour }: ElasticCurve): PlotSeries {
  const last = elastic.speedUps.length - 1;
  return {
    ...plain(elastic, colour),
    points: elastic.speedUps.map((x, at) => ({ x, y: last === 0 ? 1 : at / last })),
  };
}

function useOverTime({ elastic, colour }: ElasticCurve): PlotSeries {
  return {
    ...plain(elastic, colour),
    points: elastic.cpuUse.map((share, at) => ({
      ...{ x: ((at + 0.5) * elastic.useSliceSeconds) / HOUR_SECONDS, y: 100 * share },
    })),
  };
}
