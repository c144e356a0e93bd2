import type { ElasticLoad } from '../elastic/mapreduce-job.ts';
import type { ElasticResult } from '../elastic/meter.ts';
import type { ElasticPolicy } from '../elastic/policy.ts';
import { ELASTIC_POLICIES } from '../elastic/policy.ts';
import type { CellName } from '../workload/cells.ts';
import { CELLS } from '../workload/cells.ts';
import { meanOf, quantileOf } from '../workload/distribution.ts';
import { lightSpec } from './base-spec.ts';
import type { CurveResult, Figure, Comparison } from './figures.ts';
import { notMeasured, number, percent, comparison, waitOf } from './measures.ts';

/** Of all jobs. */
const MAP_REDUCE_SHARE = 0.2;

const BENEFIT = '50 to 70 % of the MapReduce jobs gain from idle resources';
const THREE_FOUR = 'max-parallelism: the speed-up at the 80th percentile is 3 to 4';
const RELATIVE = 'relative-job-size (4 times) does nearly as well';
const CAP_BUSY = 'global-cap (60 %) brings little or nothing in busy cells';
const CAP_IDLE = 'global-cap does nearly as well as max-parallelism in a small cell with little load';
const VARIABLE = 'with max-parallelism the utilisation of the cell varies more (figure 16)';

/** 15 and 16. */
export const ELASTIC: Figure = {
  id: '15',
  aliases: ['16'],
  title: 'Figures 15 and 16: a MapReduce scheduler that grows jobs into idle resources',
  setUp:
    'A specialised scheduler beside the batch and the service scheduler, on the same shared state and commit. A fifth of all jobs are ' +
    'MapReduce jobs, configured with 5, 11, 200 or 1,000 workers; speed-up is linear up to one worker for each activity of a phase, and ' +
    'what a phase cannot use is given back. Cells A and C, and a small one with little load (D); a day, 0.1 s and 5 ms a worker. ' +
    'How many activities jobs have for each worker is our choice (1/16 to 32 for map, 1/16 to 4 for reduce, so that about two thirds could gain in an empty cell), so the height of the curves is no finding; the differences between policies and cells are.',
  axis: { label: 'speed-up (times)', logarithmic: true },
  classes: ['batch', 'service'],
  shows: 'speed-ups',
  curves: (settings) =>
    (settings.cells ?? (['A', 'C', 'D'] as const)).flatMap((cell) =>
      ELASTIC_POLICIES.map((policy) => ({
        label: `cell ${cell}, ${policy}`,
        cell,
        points: [
          {
            x: 0,
            spec: lightSpec(cell, 1, settings, {
              // The others give up the share that is submitted to the new scheduler.
              arrivalScale: {
                batch: settings.arrivalScale * (1 - MAP_REDUCE_SHARE),
                service: settings.arrivalScale,
              },
              elastic: { load: elasticLoad(cell, settings.arrivalScale), policy, growEverySeconds: 30 },
            }),
          },
        ],
      })),
    ),
  judge: (curves) => {
    const of = (cell: CellName, policy: ElasticPolicy): ElasticResult | undefined =>
      curves.find((curve) => curve.label === `cell ${cell}, ${policy}`)?.points[0]?.result.elastic ??
      undefined;
    const cells = [...new Set(curves.map(({ cell }) => cell))];
    return cells
      .flatMap((cell) => comparisonsOf(cell, (policy) => of(cell, policy)))
      .concat(cells.map((cell) => undisturbed(cell, curves)));
  },
};

/** A fifth of the jobs of the cell. */
function elasticLoad(cell: CellName, scale: number): ElasticLoad {
  const { batch } = CELLS[cell].load;
  if (batch === null) throw new Error(`cell ${cell} has no batch jobs`);
  return {
    gapSeconds: { kind: 'exponential', mean: meanOf(batch.gapSeconds) / (MAP_REDUCE_SHARE * scale) },
    worker: { cpuMilli: 400, memoryMib: 1024, gpu: null },
    workers: [
      { weight: 40, count: 5 },
      { weight: 30, count: 11 },
      { weight: 20, count: 200 },
      { weight: 10, count: 1000 },
    ],
    mapsPerWorker: { kind: 'log-uniform', least: 0.0625, most: 32 },
    reducesPerWorker: { kind: 'log-uniform', least: 0.0625, most: 4 },
    runtimeSeconds: { kind: 'log-uniform', least: 60, most: 2400 },
    mapShare: 0.75,
  };
}

/** The speed-up that so many of the jobs do not exceed. */
export const speedUpAt = ({ speedUps }: ElasticResult, fraction: number): number =>
  speedUps.length === 0 ? 1 : quantileOf(speedUps, fraction);

const BUSY_CELLS: readonly CellName[] = ['A', 'C'];
/** Nearly as well: so much of the gain. */
const NEARLY = 0.7;
const LITTLE = 0.2;
/** Above a half of that it goes the right way. */
const nearly = (gain: number): Comparison['agrees'] =>
  gain >= NEARLY ? 'agrees' : gain >= NEARLY / 2 ? 'partly' : 'differs';

function comparisonsOf(
  cell: CellName,
  of: (policy: ElasticPolicy) => ElasticResult | undefined,
): Comparison[] {
  const [asked, most, cap, relative] = ELASTIC_POLICIES.map((policy) => of(policy)).map((one, at) => ({
    ...{ result: one, at },
  }));
  const [base, max] = [asked?.result, most?.result];
  if (base === undefined || max === undefined)
    return [notMeasured(BENEFIT, `cell ${cell} did not run whole`)];
  const high = speedUpAt(max, 0.8);
  const gainOf = (one: ElasticResult | undefined): number =>
    one === undefined ? 0 : (speedUpAt(one, 0.8) - 1) / Math.max(high - 1, 1e-9);
  const text = (one: ElasticResult | undefined): string =>
    one === undefined
      ? 'not run'
      : `${number(speedUpAt(one, 0.8))} at the 80th percentile, ${percent(one.gainedShare)} gain`;
  const variable = max.cpuUseDeviation / Math.max(base.cpuUseDeviation, 1e-9);
  const busy = BUSY_CELLS.includes(cell);
  const capGain = gainOf(cap?.result);
  return [
    comparison(
      `${BENEFIT} (cell ${cell})`,
      `${percent(max.gainedShare)} run at least 5 % shorter than with what was asked for`,
      max.gainedShare >= 0.5 && max.gainedShare <= 0.7
        ? 'agrees'
        : max.gainedShare >= 0.25
          ? 'partly'
          : 'differs',
      'how many activities jobs have for each worker is our choice; with one that fills the cell fewer find a place',
    ),
    comparison(
      `${THREE_FOUR} (cell ${cell})`,
      `${number(high)}, with a median of ${number(speedUpAt(max, 0.5))}`,
      high >= 2.7 && high <= 4.5 ? 'agrees' : high > 1.5 ? 'partly' : 'differs',
      'the same choice; and large jobs find less free capacity than they could use',
    ),
    comparison(
      `${RELATIVE} (cell ${cell})`,
      `${text(relative?.result)}; max-parallelism ${number(high)}`,
      nearly(gainOf(relative?.result)),
      'jobs here have many more activities than four times their workers',
    ),
    busy
      ? comparison(
          `${CAP_BUSY} (cell ${cell})`,
          `${text(cap?.result)}; ${percent(median(max))} of the cpu in use`,
          capGain <= LITTLE ? 'agrees' : 'differs',
          'the cell is not always above the cap',
        )
      : comparison(
          `${CAP_IDLE} (cell ${cell})`,
          `${text(cap?.result)}; max-parallelism ${number(high)}`,
          nearly(capGain),
          'large jobs reach the cap',
        ),
    comparison(
      `${VARIABLE} (cell ${cell})`,
      `standard deviation of the cpu in use, by the minute: ${percent(base.cpuUseDeviation)} without, ${percent(max.cpuUseDeviation)} ` +
        `with: ${number(variable)} times`,
      variable > 1.1 ? 'agrees' : 'differs',
      'growth finds too little free capacity to be seen in the cell’s sum',
    ),
  ];
}

const median = ({ cpuUse }: ElasticResult): number =>
  quantileOf(
    [...cpuUse].sort((a, b) => a - b),
    0.5,
  );

/** Not in the paper: what the growth costs the others. */
function undisturbed(cell: CellName, curves: readonly CurveResult[]): Comparison {
  const at = (policy: ElasticPolicy) =>
    curves.find((curve) => curve.label === `cell ${cell}, ${policy}`)?.points[0]?.result;
  const [before, after] = [at('as-asked'), at('max-parallelism')];
  const paper = `(ours) batch jobs of others do not wait longer beside a growing scheduler (cell ${cell})`;
  if (before === undefined || after === undefined) return notMeasured(paper, 'did not run whole');
  const waits = [waitOf(before, 'batch') ?? 0, waitOf(after, 'batch') ?? 0] as const;
  const abandoned = after.classes.reduce((sum, one) => sum + one.abandoned, 0);
  return comparison(
    paper,
    `mean wait until the first try ${number(waits[0])} s without, ${number(waits[1])} s with; ${String(abandoned)} jobs given up; ` +
      `the MapReduce scheduler is ${percent(after.elastic?.busyness ?? 0)} busy, conflict fraction ${number(after.elastic?.conflictFraction ?? null)}`,
    waits[1] <= 1.25 * waits[0] + 0.1 ? (abandoned === 0 ? 'agrees' : 'partly') : 'differs',
    'grown jobs fill the cell, and other jobs find no place until they end: nothing is taken back from them before',
  );
}
