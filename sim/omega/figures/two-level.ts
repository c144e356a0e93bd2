import { curvesByCell, decision, DECISION_SECONDS, lightSpec } from './base-spec.ts';
import type { CurveResult, Figure, Verdict } from './figure.ts';
import { number, overSchedulers, verdict } from './measures.ts';

const CELLS = ['A', 'B', 'C'] as const;
const BUSIER = 'the batch framework is far busier than in the multi-path design';
const ABANDONED = 'long service decisions starve batch: jobs are given up';
/** Twice the time that its jobs would take is far more. */
const FAR = 2;

/** 7. */
export const TWO_LEVEL: Figure = {
  id: '7',
  aliases: [],
  title: 'Figure 7: two-level scheduling (Mesos)',
  setUp:
    'An allocator offers all that is free to the framework furthest below its dominant share, 1 ms an offer, and locks ' +
    'it until it is answered; batch decisions take 0.1 s, those for service jobs are swept. Light cells, 5 ms a task; the paper simulates 1 day.',
  paper: [BUSIER, ABANDONED],
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

function busier(curve: CurveResult): Verdict {
  const last = curve.points.at(-1);
  const of = (pick: 'occupied' | 'busyness'): number =>
    last === undefined ? 0 : (overSchedulers(last.result, 'batch', (one) => one[pick].median) ?? 0);
  const plain =
    last === undefined ? 0 : (overSchedulers(last.result, 'batch', (one) => one.noConflictBusyness) ?? 0);
  const ratio = of('occupied') / Math.max(plain, 1e-9);
  return verdict(
    `${BUSIER} (${curve.label})`,
    `at ${number(last?.x ?? 0)} s the batch framework decides ${number(of('occupied'))} of the time (${number(of('busyness'))} ` +
      `of it with something placed); its jobs alone need ${number(plain)}`,
    ratio >= FAR ? 'agrees' : ratio >= 1.2 ? 'partly' : 'differs',
    'service jobs arrive less often here than in the paper’s cells, so offers are locked for a smaller part of the time',
  );
}

function abandoned(curve: CurveResult): Verdict {
  const counts = curve.points.map(({ x, result }) => ({
    x,
    count: result.classes.find(({ work }) => work === 'batch')?.abandoned ?? 0,
  }));
  const first = counts.find(({ count }) => count > 0);
  const most = Math.max(0, ...counts.map(({ count }) => count));
  return verdict(
    `${ABANDONED} (${curve.label})`,
    first === undefined
      ? 'no job was given up'
      : `jobs are given up from ${number(first.x)} s on, at most ${number(most)} in a day`,
    first === undefined ? 'differs' : 'agrees',
    'scraps that tasks leave as they end were enough for every batch job within its tries',
  );
}
