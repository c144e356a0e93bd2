import type { PlacementRule } from '../model/placer.ts';
import { decision, DECISION_SECONDS, lifelikeSpec } from './base-spec.ts';
import type { CurveResult, Figure, PointAt, Comparison } from './figures.ts';
import {
  asShape,
  busynessOf,
  conflictFractionOf,
  conflictsBehind,
  notMeasured,
  number,
  overSchedulers,
  percent,
  pointAt,
  rising,
  comparison,
} from './measures.ts';

const OVER_ONE = 'at a service decision time of about 10 s the conflict fraction exceeds 1';
const FORTY = 'there busyness is about 40 % above the line without conflicts';
const GROWS = 'the conflict fraction grows with the service decision time';
const PAPER_SECONDS = 10;

/**
 * The paper ran Google's own placement, which is not public. What is known of it scores every host that fits, by one
 * function that all schedulers share. These are the ways to read that, from the one with the most conflicts to the fewest.
 */
const RULES: readonly { readonly label: string; readonly placement: PlacementRule }[] = [
  { label: 'best of all hosts, tasks together', placement: { ranked: 'common', tasks: 'together' } },
  { label: 'best of all hosts, tasks apart', placement: { ranked: 'common', tasks: 'apart' } },
  {
    label: 'best of all hosts, tasks apart, equals in an own order',
    placement: { ranked: 'own', tasks: 'apart' },
  },
  { label: 'fullest of four', placement: { sample: 4 } },
];
const FEW_SECONDS = [1, 3, 10, 30, 100];

/** 12. */
export const LONG_DECISIONS: Figure = {
  id: '12',
  aliases: [],
  title: 'Figure 12: long service decisions, close to life',
  setUp:
    'Cell B, one batch and one service scheduler on shared state, service decision time swept; the paper simulates 7 days. Stand-in for ' +
    'the high-fidelity simulator, whose traces are not public: hosts of several kinds, half of the service jobs and a tenth of the batch ' +
    'jobs picky about hosts. The paper’s placement is Google’s own; how it ranks hosts decides how often two schedulers want the same one, ' +
    'so four readings are drawn: every host scored by fullness and ranked alike by all schedulers, with a job’s tasks on as few hosts ' +
    'as possible or each on its own; the same where each scheduler has its own order of equally full hosts; and the fullest of four drawn by chance, ' +
    'as our batch scheduler does.',
  axis: { label: 'decision time for each service job (s)', logarithmic: true },
  classes: ['service', 'batch'],
  curves: (settings) =>
    (settings.cells ?? (['B'] as const)).flatMap((cell) =>
      RULES.map(({ label, placement }, at) => ({
        label: settings.cells === undefined ? label : `${label}, cell ${cell}`,
        cell,
        points: (settings.values ?? (at === 0 ? DECISION_SECONDS : FEW_SECONDS)).map((x) => ({
          x,
          spec: lifelikeSpec(cell, 7, settings, {
            decision: { batch: decision(0.1), service: decision(x) },
            placement,
          }),
        })),
      })),
    ),
  judge: (curves) => [
    ...curves.slice(0, 1).map((curve) => asShape(GROWS, growsWithTime(curve))),
    ...curves.flatMap((curve) => [overOne(curve), fortyPercent(curve)]),
  ],
};

const fractionOf = ({ result }: PointAt): number => conflictFractionOf(result, 'service') ?? 0;

function growsWithTime(curve: CurveResult): Comparison {
  const points = curve.points.filter((point) => steadyEnough(point));
  const values = points.map(fractionOf);
  if (points.length < 2)
    return notMeasured(GROWS, 'the sweep has no two points at which the scheduler keeps up');
  return comparison(
    GROWS,
    points.map((point) => `${number(fractionOf(point))} at ${number(point.x)} s`).join(', '),
    rising(values, 0.01),
    conflictsBehind(points, 'service'),
  );
}

/** Beyond that the scheduler has more to do than it has time, and its later jobs are never tried. */
const steadyEnough = ({ result }: PointAt): boolean => busynessOf(result, 'service') < 0.99;

const WHY_OVER =
  'the more alike schedulers rank hosts, the more often they want the same one: compare the other curves. Which ranking the paper’s simulator had, its ' +
  'real sizes of jobs and its constraints were never published. The ranking that comes nearest here would break figure 13: three batch schedulers with it ' +
  'meet 0.8 conflicts for each success, where the paper says 0.1; so no one ranking of ours gives both';

function overOne(curve: CurveResult): Comparison {
  const paper = `${OVER_ONE} (${curve.label})`;
  const there = pointAt(curve, PAPER_SECONDS);
  if (there === undefined) return notMeasured(paper, '10 s is not among the values');
  const fraction = fractionOf(there);
  const over = curve.points.find((point) => fractionOf(point) > 1);
  const most = Math.max(0, ...curve.points.map(fractionOf));
  const where =
    over === undefined ? `never above 1, ${number(most)} at the most` : `above 1 from ${number(over.x)} s on`;
  const agrees = fraction > 1 ? 'agrees' : fraction >= 0.5 ? 'partly' : 'differs';
  return comparison(paper, `${number(fraction)} at 10 s; ${where}`, agrees, WHY_OVER);
}

const WHY_FORTY =
  'where nearly all of a decision is its time for the job, every conflict costs a whole decision again, so busyness over the line is 1 + the conflict ' +
  'fraction, here and in Omega’s own model: more than 1 and 40 % cannot both be means of the same runs. The paper’s busyness is a median of days; if a few ' +
  'bad days carry the conflicts, both can be true';

function fortyPercent(curve: CurveResult): Comparison {
  const paper = `${FORTY} (${curve.label})`;
  const there = pointAt(curve, PAPER_SECONDS);
  if (there === undefined) return notMeasured(paper, '10 s is not among the values');
  const more = aboveLine(there);
  const agrees = more >= 0.25 && more <= 0.6 ? 'agrees' : more > 0.05 ? 'partly' : 'differs';
  return comparison(paper, `${percent(more)} above it at 10 s`, agrees, WHY_FORTY);
}

function aboveLine({ result }: PointAt): number {
  const plain = overSchedulers(result, 'service', (one) => one.noConflictBusyness) ?? 0;
  return busynessOf(result, 'service') / Math.max(plain, 1e-9) - 1;
}
