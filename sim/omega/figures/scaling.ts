import type { CellName } from '../workload/cells.ts';
import { CELLS, SMALL_BATCH_SHAPES } from '../workload/cells.ts';
import type { DrawnLoad } from '../workload/workload.ts';
import { curvesByCell, lightSpec } from './base-spec.ts';
import type { CurveResult, Figure, FigureSettings, Comparison } from './figures.ts';
import {
  asShape,
  busynessOf,
  conflictFractionOf,
  conflictsBehind,
  falling,
  isSaturated,
  notMeasured,
  number,
  rising,
  saturation,
  saturationText,
  comparison,
} from './measures.ts';

const SCALES = [1, 1.5, 2, 2.5, 3, 4, 5, 5.5, 6, 6.5, 8, 9, 9.5, 10];
const SATURATES: Partial<Record<CellName, number>> = { A: 2.5, B: 6, C: 9.5 };
/** The paper's points were read off a plot. */
const READING_SLACK = 0.1;

/** 8. */
export const BATCH_LOAD: Figure = {
  id: '8',
  aliases: [],
  title: 'Figure 8: more batch jobs, one batch scheduler',
  setUp:
    'One batch and one service scheduler on shared state at 0.1 s and 5 ms a task; the arrival rate of batch jobs is ' +
    'multiplied; light cells, the paper simulates 7 days. Our cells are calibrated to these saturation points, so that they come out is no ' +
    'finding; how busyness, wait and conflicts go there is.',
  axis: { label: 'batch arrival rate (times the original)', logarithmic: false },
  classes: ['batch', 'service'],
  curves: (settings) =>
    curvesByCell(settings, ['A', 'B', 'C'], SCALES, (cell, x) =>
      lightSpec(cell, 7, settings, { arrivalScale: scaled(settings, x) }),
    ),
  judge: (curves) => curves.map(saturatesWhereItShould),
};

const scaled = (settings: FigureSettings, x: number) => ({
  ...{ batch: x * settings.arrivalScale, service: settings.arrivalScale },
});

function saturatesWhereItShould(curve: CurveResult): Comparison {
  const expected = SATURATES[curve.cell];
  const paper = `saturates at ${String(expected)} times the load (${curve.label})`;
  if (expected === undefined) return notMeasured('not one of the paper’s cells', curve.label);
  const found = saturation(curve, 'batch');
  if (found.to === Infinity && found.from < expected * (1 - READING_SLACK))
    return notMeasured(paper, `the sweep does not reach it: it ends at ${number(found.from)} times the load`);
  const agrees = found.from <= expected * (1 + READING_SLACK) && found.to >= expected * (1 - READING_SLACK);
  return comparison(
    paper,
    saturationText(found),
    agrees ? 'agrees' : 'differs',
    'it comes at another load; what of the load makes it was not examined',
  );
}

const SCHEDULER_COUNTS = [1, 2, 4, 8, 16, 32];
const SHARED_SCALES = [1, 2, 4, 6, 8, 10];

/** With smaller batch tasks, so that ten times the load still fits into the cell: the figure is about schedulers. */
function roomyLoad(cell: CellName): DrawnLoad {
  const { load } = CELLS[cell];
  return load.batch === null ? load : { ...load, batch: { ...load.batch, shapes: SMALL_BATCH_SHAPES } };
}

/** 9. */
export const MANY_SCHEDULERS: Figure = {
  id: '9',
  aliases: [],
  title: 'Figure 9: many batch schedulers',
  setUp:
    '1 to 32 batch schedulers and one for services share cell B, 0.1 s and 5 ms a task; jobs go to the batch schedulers in ' +
    'turn, and their arrival rate is multiplied; batch tasks are half as large as elsewhere, so that ten times the load fits into the cell; the paper simulates 7 days.',
  axis: { label: 'batch arrival rate (times the original)', logarithmic: false },
  classes: ['batch'],
  curves: (settings) =>
    (settings.cells ?? ['B']).flatMap((cell) =>
      SCHEDULER_COUNTS.map((batch) => ({
        label: `${String(batch)} scheduler${batch === 1 ? '' : 's'}${settings.cells === undefined ? '' : `, cell ${cell}`}`,
        cell,
        points: (settings.values ?? SHARED_SCALES).map((x) => ({
          x,
          spec: {
            ...lightSpec(cell, 7, settings, {
              arrivalScale: scaled(settings, x),
              schedulers: { batch, service: 1 },
            }),
            load: roomyLoad(cell),
          },
        })),
      })),
    ),
  judge: (curves) =>
    curves.length < 2
      ? []
      : [
          asShape('the conflict fraction grows with the number of schedulers', conflictsGrow(curves)),
          asShape('up to 32 batch schedulers stay useful', staysUseful(curves)),
        ],
};

/** Of the largest fraction so much may be missing from one number of schedulers to the next, by chance. */
const CHANCE = 0.02;
const TOO_MUCH = 'the most schedulers are saturated at every load of the sweep';

/** The largest load at which all but the first still keep up: with one it is over sooner, which is the point. */
function comparedAt(curves: readonly CurveResult[]): number | null {
  const most = curves.at(-1);
  const found = most?.points.filter(({ result }) => !isSaturated(result, 'batch')).at(-1);
  return found?.x ?? null;
}

function at<T>(
  curves: readonly CurveResult[],
  x: number,
  of: (result: CurveResult['points'][number]['result']) => T,
): T[] {
  return curves.flatMap((curve) =>
    curve.points.filter((point) => point.x === x).map(({ result }) => of(result)),
  );
}

function conflictsGrow(curves: readonly CurveResult[]): Comparison {
  const paper = 'the conflict fraction grows with the number of schedulers';
  const x = comparedAt(curves);
  if (x === null) return notMeasured(paper, TOO_MUCH);
  const values = at(curves, x, (result) => conflictFractionOf(result, 'batch') ?? 0);
  const points = curves.flatMap((curve) => curve.points.filter((point) => point.x === x));
  return comparison(
    paper,
    `at ${number(x)} times the load: ${values.map(number).join(', ')} with ${curves.map(({ label }) => label.split(' ')[0]).join(', ')}`,
    rising(values, CHANCE * Math.max(0, ...values)),
    conflictsBehind(points, 'batch'),
  );
}

function staysUseful(curves: readonly CurveResult[]): Comparison {
  const paper = 'each scheduler is still less busy with 32 than with fewer';
  const x = comparedAt(curves);
  if (x === null) return notMeasured(paper, TOO_MUCH);
  const values = at(curves, x, (result) => busynessOf(result, 'batch'));
  const conflicts = at(curves, x, (result) => number(conflictFractionOf(result, 'batch')));
  return comparison(
    paper,
    `at ${number(x)} times the load: ${values.map(number).join(', ')}`,
    falling(values),
    `their conflict fractions there are ${conflicts.join(', ')}; what else costs them time was not examined`,
  );
}
