import { curvesByCell, decision, DECISION_SECONDS, lightSpec } from './base-spec.ts';
import type { CurveResult, Figure, Comparison } from './figures.ts';
import {
  busynessOf,
  isSaturated,
  notMeasured,
  number,
  overSchedulers,
  saturation,
  saturationText,
  steady,
  comparison,
  waitOf,
} from './measures.ts';

const CELLS = ['A', 'B', 'C'] as const;
const WEEK_DAYS = 7;
/** How far from the straight line busyness may lie and still be called linear. */
const LINE_SLACK = 0.03;
/** A wait that grew by so much has exploded. */
const EXPLOSION = 100;

const LINEAR = 'busyness grows linearly with the decision time';
const EXPLODES = 'wait time explodes when the scheduler saturates';
const BETTER = 'better than single-path: only slow service decisions count';
const HEAD_OF_LINE = 'head-of-line blocking remains: batch jobs wait behind slow service decisions';

/** 5a and 6a: every decision is as slow as the slowest kind. */
export const SINGLE_PATH: Figure = {
  id: '5a',
  aliases: ['6a'],
  title: 'Figures 5a and 6a: monolithic, single path',
  setUp:
    'One scheduler with one queue for everything; the decision time of both classes is swept together. ' +
    'Light cells, 5 ms a task; the paper simulates 7 days.',
  axis: { label: 'decision time for each job, both classes (s)', logarithmic: true },
  classes: ['batch', 'service'],
  curves: (settings) =>
    curvesByCell(settings, CELLS, DECISION_SECONDS, (cell, x) =>
      lightSpec(cell, WEEK_DAYS, settings, {
        design: 'monolithic',
        decision: { batch: decision(x), service: decision(x) },
      }),
    ),
  judge: (curves) => curves.flatMap((curve) => [linear(curve), explodes(curve)]),
};

/** 5b and 6b: a fast path for batch jobs in the same scheduler. */
export const MULTI_PATH: Figure = {
  id: '5b',
  aliases: ['6b'],
  title: 'Figures 5b and 6b: monolithic, multi-path',
  setUp:
    'One scheduler with one queue; batch decisions take 0.1 s, those for service jobs are swept. Light cells, 5 ms a task; the ' +
    'paper simulates 7 days.',
  axis: { label: 'decision time for each service job (s)', logarithmic: true },
  classes: ['batch', 'service'],
  curves: (settings) =>
    curvesByCell(settings, CELLS, DECISION_SECONDS, (cell, x) =>
      lightSpec(cell, WEEK_DAYS, settings, {
        design: 'monolithic',
        decision: { batch: decision(0.1), service: decision(x) },
      }),
    ),
  judge: (curves) => curves.flatMap((curve) => [better(curve), headOfLine(curve)]),
};

function linear(curve: CurveResult): Comparison {
  const off = steady(curve, 'batch').map(({ result }) =>
    Math.abs(busynessOf(result, 'batch') - wanted(result)),
  );
  const most = Math.max(0, ...off);
  if (off.length === 0)
    return notMeasured(`${LINEAR} (${curve.label})`, 'all points of the sweep are saturated');
  const vain = Math.max(
    ...steady(curve, 'batch').map(
      ({ result }) =>
        (overSchedulers(result, 'batch', (one) => one.occupied.median) ?? 0) - busynessOf(result, 'batch'),
    ),
  );
  return comparison(
    `${LINEAR} (${curve.label})`,
    `at most ${number(most)} off the line of decision time times arrivals, over ${String(off.length)} unsaturated points`,
    most <= LINE_SLACK ? 'agrees' : 'differs',
    `tries without a place, which the line does not count, took up to ${number(vain)} of the time; no other cause was examined`,
  );
}

const wanted = (result: CurveResult['points'][number]['result']): number =>
  overSchedulers(result, 'batch', (one) => one.noConflictBusyness) ?? 0;

function explodes(curve: CurveResult): Comparison {
  const first = curve.points[0];
  const over = curve.points.find(({ result }) => isSaturated(result, 'batch'));
  const before = first === undefined ? 0 : (waitOf(first.result, 'batch') ?? 0);
  if (over === undefined)
    return comparison(
      `${EXPLODES} (${curve.label})`,
      'it never saturates in this sweep',
      'not measured',
      'sweep further',
    );
  const after = waitOf(over.result, 'batch') ?? 0;
  return comparison(
    `${EXPLODES} (${curve.label})`,
    `saturated ${saturationText(saturation(curve, 'batch'))} s; mean batch wait ${number(before)} s at the least ` +
      `decision time, ${number(after)} s there`,
    after > EXPLOSION * Math.max(before, 0.1) ? 'agrees' : 'differs',
    `the queue had ${number(over.result.spec.horizonSeconds / 3600)} h to grow; whether it grows in more was not examined`,
  );
}

function better(curve: CurveResult): Comparison {
  const { from, to } = saturation(curve, 'batch');
  const single = singlePathLimit(curve);
  if (to === Infinity && from <= 2 * single)
    return notMeasured(
      `${BETTER} (${curve.label})`,
      `the sweep does not reach it: it ends at ${number(from)} s, and a single path could bear ${number(single)} s`,
    );
  return comparison(
    `${BETTER} (${curve.label})`,
    `saturated ${saturationText(saturation(curve, 'batch'))} s of service decision time; a single path could bear ` +
      `${number(single)} s`,
    to > 2 * single ? 'agrees' : 'differs',
    'what fills the scheduler was not examined',
  );
}

/** The decision time at which a single path would have no second to spare, from what was submitted. */
function singlePathLimit(curve: CurveResult): number {
  const [first] = curve.points;
  if (first === undefined) return 0;
  const { classes, spec } = first.result;
  const jobs = classes.reduce((sum, one) => sum + one.submitted, 0);
  const tasks = classes.reduce((sum, one) => sum + one.tasksSubmitted, 0);
  return (spec.horizonSeconds - tasks * spec.decision.batch.taskSeconds) / jobs;
}

function headOfLine(curve: CurveResult): Comparison {
  const points = steady(curve, 'batch');
  const [first, last] = [points[0], points.at(-1)];
  const before = first === undefined ? 0 : (waitOf(first.result, 'batch') ?? 0);
  const after = last === undefined ? 0 : (waitOf(last.result, 'batch') ?? 0);
  const services = last?.result.classes.find(({ work }) => work === 'service')?.submitted ?? 0;
  if (points.length < 2)
    return notMeasured(
      `${HEAD_OF_LINE} (${curve.label})`,
      'the sweep has no two points that are not saturated',
    );
  return comparison(
    `${HEAD_OF_LINE} (${curve.label})`,
    `mean batch wait ${number(before)} s with service decisions of ${number(first?.x ?? 0)} s, ${number(after)} s with ` +
      `${number(last?.x ?? 0)} s, not yet saturated`,
    after > 2 * before ? 'agrees' : after > before ? 'partly' : 'differs',
    `${number(services)} service jobs were submitted in the last of these runs; how many batch jobs met one was not examined`,
  );
}
