import { curvesByCell, decision, DECISION_SECONDS, lightSpec } from './base-spec.ts';
import type { CurveResult, Figure, Comparison } from './figures.ts';
import { notMeasured, number, overSchedulers, comparison } from './measures.ts';

const CELLS = ['A', 'B', 'C'] as const;
const BUSIER = 'the batch framework is far busier than in the multi-path design';
const ABANDONED = 'long service decisions starve batch: jobs are given up';
/** Twice the time that its jobs would take is far more. */
const FAR = 2;
/** Less than its jobs need by themselves: no longer sweep makes that more. */
const LESS = 0.9;
const LONGEST_SECONDS = Math.max(...DECISION_SECONDS);

/** 7. */
export const TWO_LEVEL: Figure = {
  id: '7',
  aliases: [],
  title: 'Figure 7: two-level scheduling (Mesos)',
  setUp:
    'An allocator offers all that is free to the framework furthest below its dominant share, 1 ms an offer, and locks ' +
    'it until it is answered; batch decisions take 0.1 s, those for service jobs are swept. Light cells, 5 ms a task; the paper simulates 1 day.',
  axis: { label: 'decision time for each service job (s)', logarithmic: true },
  classes: ['batch', 'service'],
  curves: (settings) =>
    curvesByCell(settings, CELLS, DECISION_SECONDS, (cell, x) =>
      lightSpec(cell, 1, settings, {
        design: 'two-level',
        decision: { batch: decision(0.1), service: decision(x) },
      }),
    ),
  judge: (curves) => curves.flatMap((curve) => [busier(curve), abandoned(curve)]),
};

/** Why the sweep cannot show what comes with long decisions only; null: it can. */
function shortOf(curve: CurveResult): string | null {
  const reached = curve.points.at(-1)?.x ?? 0;
  return reached >= LONGEST_SECONDS
    ? null
    : `the sweep does not reach it: it ends at ${number(reached)} s, the figure’s own at ${number(LONGEST_SECONDS)} s`;
}

function busier(curve: CurveResult): Comparison {
  const last = curve.points.at(-1);
  const of = (pick: 'occupied' | 'busyness'): number =>
    last === undefined ? 0 : (overSchedulers(last.result, 'batch', (one) => one[pick].median) ?? 0);
  const plain =
    last === undefined ? 0 : (overSchedulers(last.result, 'batch', (one) => one.noConflictBusyness) ?? 0);
  const ratio = of('occupied') / Math.max(plain, 1e-9);
  const paper = `${BUSIER} (${curve.label})`;
  const short = shortOf(curve);
  // So short a sweep can show it, and even the contrary, but not that it does not come.
  if (short !== null && ratio < FAR && ratio >= LESS) return notMeasured(paper, short);
  const service =
    last === undefined ? 0 : (overSchedulers(last.result, 'service', (one) => one.occupied.median) ?? 0);
  return comparison(
    paper,
    `at ${number(last?.x ?? 0)} s the batch framework decides ${number(of('occupied'))} of the time (${number(of('busyness'))} ` +
      `of it with something placed); its jobs alone need ${number(plain)}`,
    ratio >= FAR ? 'agrees' : ratio >= 1.2 ? 'partly' : 'differs',
    `the service framework decides ${number(service)} of the time, and locks what it is offered only so long; no other cause was examined`,
  );
}

function abandoned(curve: CurveResult): Comparison {
  const counts = curve.points.map(({ x, result }) => ({
    x,
    count: result.classes.find(({ work }) => work === 'batch')?.abandoned ?? 0,
  }));
  const first = counts.find(({ count }) => count > 0);
  const paper = `${ABANDONED} (${curve.label})`;
  const short = shortOf(curve);
  if (first === undefined && short !== null) return notMeasured(paper, short);
  const waiting = Math.max(
    0,
    ...curve.points.map(({ result }) => result.classes.find(({ work }) => work === 'batch')?.waiting ?? 0),
  );
  const most = Math.max(0, ...counts.map(({ count }) => count));
  return comparison(
    paper,
    first === undefined
      ? 'no job was given up'
      : `jobs are given up from ${number(first.x)} s on, at most ${number(most)} in a day`,
    first === undefined ? 'differs' : 'agrees',
    `at most ${number(waiting)} batch jobs had no place at the end of a run; why each found one within its tries was not examined`,
  );
}
