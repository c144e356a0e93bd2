import { curvesByCell, decision, DECISION_SECONDS, lightSpec } from './base-spec.ts';
import type { CurveResult, Figure, PointAt, Comparison } from './figures.ts';
import {
  asShape,
  conflictFractionOf,
  conflictsBehind,
  leftShare,
  notMeasured,
  number,
  percent,
  rising,
  steady,
  comparison,
  waitOf,
} from './measures.ts';

const CELLS = ['A', 'B', 'C'] as const;
const INDEPENDENT = 'batch and service waits do not depend on each other';
const ALL_PLACED = 'all jobs are placed';
const CONFLICTS_GROW = 'longer service decisions meet more conflicts';
/** Two waits so close are the same; and no wait below a tenth of a second is worth a word. */
const SAME_RATIO = 1.25;
const SAME_SECONDS = 0.1;
/** A thousandth of the jobs may be in the making when the run ends. */
const LEFT_MAX = 0.001;
const LEFT_FEW = 0.02;

/** 5c and 6c. */
export const SHARED_STATE: Figure = {
  id: '5c',
  aliases: ['6c'],
  title: 'Figures 5c and 6c: shared state',
  setUp:
    'One batch and one service scheduler on private copies, optimistic commits (resource-fit, incremental); batch ' +
    'decisions take 0.1 s, those for service jobs are swept. Light cells, 5 ms a task; the paper simulates 7 days.',
  axis: { label: 'decision time for each service job (s)', logarithmic: true },
  classes: ['batch', 'service'],
  curves: (settings) =>
    curvesByCell(settings, CELLS, DECISION_SECONDS, (cell, x) =>
      lightSpec(cell, 7, settings, { decision: { batch: decision(0.1), service: decision(x) } }),
    ),
  judge: (curves) =>
    curves.flatMap((curve) => [
      asShape('batch and service waits stay independent', independent(curve)),
      allPlaced(curve),
      conflictsGrow(curve),
    ]),
};

function independent(curve: CurveResult): Comparison {
  const waits = curve.points.map(({ result }) => waitOf(result, 'batch') ?? 0);
  const [least, most] = [Math.min(...waits), Math.max(...waits)];
  return comparison(
    `${INDEPENDENT} (${curve.label})`,
    `mean batch wait ${number(least)} to ${number(most)} s over all service decision times`,
    most <= SAME_RATIO * least + SAME_SECONDS ? 'agrees' : 'differs',
    conflictsBehind(curve.points, 'batch'),
  );
}

function allPlaced(curve: CurveResult): Comparison {
  const points = steady(curve, 'service');
  if (points.length === 0)
    return notMeasured(`${ALL_PLACED} (${curve.label})`, 'the sweep reaches no point that is not saturated');
  const left = points.map(({ result }) => Math.max(leftShare(result, 'batch'), leftShare(result, 'service')));
  const most = Math.max(0, ...left);
  return comparison(
    `${ALL_PLACED} (${curve.label})`,
    `at most ${percent(most)} of a class without a place at the end, over ${String(points.length)} unsaturated points`,
    most <= LEFT_MAX ? 'agrees' : most <= LEFT_FEW ? 'partly' : 'differs',
    'whether they were only being decided as the run ended was not examined',
  );
}

function conflictsGrow(curve: CurveResult): Comparison {
  const of = (point: PointAt | undefined): number =>
    point === undefined ? 0 : (conflictFractionOf(point.result, 'service') ?? 0);
  const points = steady(curve, 'service');
  const values = points.map(of);
  const [first, last] = [values[0] ?? 0, values.at(-1) ?? 0];
  const paper = `${CONFLICTS_GROW} (${curve.label})`;
  if (points.length < 2)
    return notMeasured(paper, 'the sweep has no two points at which the scheduler keeps up');
  return comparison(
    paper,
    `service conflict fraction ${number(first)} at ${number(points[0]?.x ?? 0)} s, ${number(last)} at ` +
      `${number(points.at(-1)?.x ?? 0)} s`,
    rising(values, 0.01),
    conflictsBehind(points, 'service'),
  );
}
