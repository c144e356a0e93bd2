import { decision, DECISION_SECONDS, lifelikeSpec } from './base-spec.ts';
import type { CurveResult, Figure, PointAt, Comparison } from './figures.ts';
import {
  asShape,
  busynessOf,
  conflictFractionOf,
  notMeasured,
  number,
  pointAt,
  saturation,
  saturationText,
  schedulersFor,
  comparison,
} from './measures.ts';

const STAND_IN =
  'Stand-in for the high-fidelity simulator, whose traces are not public: hosts of several kinds, half of the service ' +
  'jobs and a tenth of the batch jobs picky about hosts, the fullest of four hosts that fit.';

const THREE_TIMES =
  'three batch schedulers bear about three times the decision time: saturation moves from ~4 s to ~15 s';
const TENTH = 'the conflict fraction with three schedulers is about 0.1';
const BATCH_SECONDS = [0.1, 0.5, 1, 2, 3, 4, 5, 7, 9, 10, 11, 12, 15, 20];

/** 13. */
export const THREE_SCHEDULERS: Figure = {
  id: '13',
  aliases: [],
  title: 'Figure 13: three batch schedulers, close to life',
  setUp:
    'Cell C, 24 hours in the paper, decision time of batch jobs swept, one batch scheduler against three that take jobs in turn. ' +
    STAND_IN,
  axis: { label: 'decision time for each batch job (s)', logarithmic: true },
  classes: ['batch'],
  curves: (settings) =>
    (settings.cells ?? ['C']).flatMap((cell) =>
      [1, 3].map((batch) => ({
        label: `${String(batch)} batch scheduler${batch === 1 ? '' : 's'}`,
        cell,
        points: (settings.values ?? BATCH_SECONDS).map((x) => ({
          x,
          spec: lifelikeSpec(cell, 1, settings, {
            schedulers: { batch, service: 1 },
            decision: { batch: decision(x), service: decision(0.1) },
          }),
        })),
      })),
    ),
  judge: ([one, three]) =>
    one === undefined || three === undefined ? [] : [threeTimes(one, three), tenth(three)],
};

const THREE_TIMES_SHAPE = 'three batch schedulers move saturation to about 3 times the decision time';

function threeTimes(one: CurveResult, three: CurveResult): Comparison {
  const [before, after] = [saturation(one, 'batch'), saturation(three, 'batch')];
  const ratio = after.to / before.to;
  // Where one alone bears all of the sweep and three do not, it is known to be the other way round.
  if (after.to === Infinity)
    return asShape(
      THREE_TIMES_SHAPE,
      notMeasured(THREE_TIMES, 'the sweep does not reach the saturation of both'),
    );
  return asShape(
    THREE_TIMES_SHAPE,
    comparison(
      THREE_TIMES,
      `one: ${saturationText(before)} s; three: ${saturationText(after)} s`,
      ratio >= 2.2 && ratio <= 4.5 ? 'agrees' : ratio > 1 ? 'partly' : 'differs',
      `that is ${number(ratio)} times; between two points of the sweep nothing was measured`,
    ),
  );
}

function tenth(three: CurveResult): Comparison {
  const { from, to } = saturation(three, 'batch');
  const fractions = three.points
    .filter(({ x }) => x <= from)
    .map(({ result }) => conflictFractionOf(result, 'batch') ?? 0);
  const most = Math.max(0, ...fractions);
  return comparison(
    TENTH,
    `at most ${number(most)} before saturation${to === Infinity ? '' : ` at ${number(from)} s`}`,
    most >= 0.05 && most <= 0.2 ? 'agrees' : most > 0 ? 'partly' : 'differs',
    'how often two schedulers want the same host depends on how the placement scores hosts, which is unknown',
  );
}

const GANG_TWICE = 'gang scheduling (all or nothing) about doubles the conflict fraction';
const COARSE_MORE = 'coarse conflict detection costs 2 to 3 times the conflicts';
const COARSE_BUSIER = 'coarse conflict detection costs 2 to 3 times the busyness';

const MODES = [
  { label: 'fine, incremental', changes: {} },
  { label: 'coarse, incremental', changes: { conflictCheck: 'version' } },
  { label: 'coarse, ends count too', changes: { conflictCheck: 'version', endsMove: true } },
  { label: 'fine, all or nothing', changes: { atomicity: 'all-or-nothing' } },
  { label: 'coarse, all or nothing', changes: { conflictCheck: 'version', atomicity: 'all-or-nothing' } },
] as const;

/** 14. */
export const CONFLICT_MODES: Figure = {
  id: '14',
  aliases: [],
  title: 'Figure 14: conflict detection and transactions, close to life',
  setUp:
    `Cell C, one batch and one service scheduler, service decision time swept; 7 days unless said otherwise. Fine: a conflict is what no longer ` +
    `fits. Coarse: a host that moved at all; with “ends count too” also when a task on it ended, as in our own store. ${STAND_IN}`,
  axis: { label: 'decision time for each service job (s)', logarithmic: true },
  classes: ['service', 'batch'],
  curves: (settings) =>
    (settings.cells ?? ['C']).flatMap((cell) =>
      MODES.map(({ label, changes }) => ({
        label,
        cell,
        points: (settings.values ?? DECISION_SECONDS).map((x) => ({
          x,
          spec: lifelikeSpec(cell, 7, settings, {
            decision: { batch: decision(0.1), service: decision(x) },
            ...changes,
          }),
        })),
      })),
    ),
  judge: (curves) => {
    const of = (label: string): CurveResult | undefined => curves.find((curve) => curve.label === label);
    const fine = of('fine, incremental');
    if (fine === undefined) return [];
    return [
      asShape(
        'gang commits cost about 2 times the conflicts',
        ratioVerdict(GANG_TWICE, fine, of('fine, all or nothing'), fractionAt, [1.5, 3], WHY_GANG),
      ),
      asShape(
        'coarse detection costs 2 to 3 times the conflicts of fine-grained',
        ratioVerdict(COARSE_MORE, fine, of('coarse, incremental'), fractionAt, [1.7, 4]),
      ),
      ratioVerdict(`${COARSE_MORE} (ends counted)`, fine, of('coarse, ends count too'), fractionAt, [1.7, 4]),
      ratioVerdict(COARSE_BUSIER, fine, of('coarse, all or nothing'), busyAt, [1.7, 4]),
    ];
  },
};

type Measure = (point: CurveResult['points'][number]) => number;
const fractionAt: Measure = ({ result }) => conflictFractionOf(result, 'service') ?? 0;
const busyAt: Measure = ({ result }) => busynessOf(result, 'service');

const WHY_GANG =
  'a gang’s next try is as large as its first, an incremental job’s is only what was lost: that tells where conflicts are frequent, and at short decision times they are rare here';
const WHY_COARSE =
  'the ratio depends on how close to full the hosts are that a placement chooses: the fuller, the more often a moved host is a lost one, and coarse and fine draw level; busyness follows only where conflicts are frequent';

/** A ratio of fewer conflicts than this is mostly chance. */
const FAILURES_MIN = 20;

const failures = ({ result }: PointAt): number =>
  schedulersFor(result, 'service').reduce((sum, one) => sum + one.failed, 0);

/** Compares where both keep up and the finer one has conflicts to speak of; the middle of all such points. */
function ratioVerdict(
  paper: string,
  fine: CurveResult,
  other: CurveResult | undefined,
  of: Measure,
  [least, most]: readonly [number, number],
  why = WHY_COARSE,
): Comparison {
  const limit = Math.min(
    saturation(fine, 'service').from,
    other === undefined ? 0 : saturation(other, 'service').from,
  );
  const ratios = fine.points.flatMap((point) => {
    const beside = pointAt(other, point.x);
    if (beside === undefined || point.x > limit || failures(point) < FAILURES_MIN) return [];
    return [{ x: point.x, ratio: of(beside) / of(point) }];
  });
  if (ratios.length === 0) return notMeasured(paper, 'no point has conflicts to speak of');
  const sorted = ratios.map(({ ratio }) => ratio).sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)] as number;
  const agrees = middle >= least && middle <= most ? 'agrees' : middle > 1.1 ? 'partly' : 'differs';
  const all = ratios.map(({ x, ratio }) => `${number(ratio)} at ${number(x)} s`).join(', ');
  return comparison(paper, `times ${number(middle)} in the middle: ${all}`, agrees, why);
}
