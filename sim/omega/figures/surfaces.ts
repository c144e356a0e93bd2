import type { CellName } from '../workload/cells.ts';
import type { PointSpec } from '../point/spec.ts';
import { decision, DEFAULT_DECISION, lightSpec } from './base-spec.ts';
import type { CurveResult, Figure, FigureSettings, Comparison } from './figures.ts';
import { leftShare, comparison } from './measures.ts';

const JOB_SECONDS = [0.1, 1, 10, 100];
const TASK_SECONDS = [0.001, 0.01, 0.1, 1];
const SCALES =
  'monolithic and two-level scheduling leave work unscheduled over a large part of the surface, shared state over the least';

/** More of a class than this without a place at the end is work that stays unscheduled. */
const LEFT_MAX = 0.02;

const SCHEMES = ['single path', 'multi-path', 'two-level', 'shared state'] as const;

/** 10. */
export const SURFACES: Figure = {
  id: '10',
  aliases: [],
  title: 'Figure 10: decision time for a job against decision time for a task',
  setUp:
    'Cell B under each design, light; both parts of the service decision time are swept (single path: of both classes), ' +
    'batch decisions take 0.1 s and 5 ms a task. Colour and number: busyness of the scheduler of services.',
  axis: { label: 'decision time for each service job (s)', logarithmic: true },
  rows: { label: 'decision time for each task (s)', logarithmic: true },
  classes: ['service'],
  curves: (settings) =>
    (settings.cells ?? ['B']).flatMap((cell) =>
      SCHEMES.flatMap((surface) =>
        TASK_SECONDS.map((y) => ({
          label: `${surface}, ${String(y)} s a task`,
          cell,
          row: { surface, y },
          points: (settings.values ?? JOB_SECONDS).map((x) => ({
            x,
            spec: specAt(surface, cell, settings, x, y),
          })),
        })),
      ),
    ),
  judge: (curves) => [scales(curves)],
};

function specAt(
  scheme: (typeof SCHEMES)[number],
  cell: CellName,
  settings: FigureSettings,
  jobSeconds: number,
  taskSeconds: number,
): PointSpec {
  const swept = decision(jobSeconds, taskSeconds);
  const both = { batch: DEFAULT_DECISION, service: swept };
  const designs = {
    'single path': { design: 'monolithic', decision: { batch: swept, service: swept } },
    'multi-path': { design: 'monolithic', decision: both },
    'two-level': { design: 'two-level', decision: both },
    'shared state': { design: 'shared-state', decision: both },
  } as const;
  return lightSpec(cell, 1, settings, designs[scheme]);
}

/** Does a part of the workload stay unscheduled? */
export function leavesWork({ result }: CurveResult['points'][number]): boolean {
  return result.classes.some(({ work }) => leftShare(result, work) >= LEFT_MAX);
}

function scales(curves: readonly CurveResult[]): Comparison {
  const lost = SCHEMES.map((surface) => {
    const points = curves.filter(({ row }) => row?.surface === surface).flatMap((curve) => curve.points);
    return { surface, red: points.filter(leavesWork).length, all: points.length };
  });
  const own = lost.at(-1)?.red ?? 0;
  const others = lost.slice(0, -1).map(({ red }) => red);
  const text = lost
    .map(({ surface, red, all }) => `${surface} ${String(red)} of ${String(all)} points`)
    .join(', ');
  const [least, most] = [Math.min(...others), Math.max(...others)];
  return comparison(
    SCALES,
    `unscheduled work with ${text}`,
    own < least ? 'agrees' : own <= least && own < most ? 'partly' : 'differs',
    'service jobs arrive so seldom in our cell that neither a multi-path nor a two-level scheduler is full within the sweep; --scale brings more of them',
  );
}
