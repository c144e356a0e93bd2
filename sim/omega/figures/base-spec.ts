import type { CellName } from '../workload/cells.ts';
import { CELLS, closerToLife } from '../workload/cells.ts';
import { RANDOM_FIRST_FIT } from '../model/placer.ts';
import type { PointSpec } from '../point/spec.ts';
import { OMEGA_RETRY } from '../model/spec.ts';
import type { Curve, FigureSettings } from './figures.ts';

export const DAY_SECONDS = 86_400;
/** The paper's defaults, called least favourable to Omega. */
export const DEFAULT_DECISION = { jobSeconds: 0.1, taskSeconds: 0.005 };
/** Three a decade: enough to see a bend on a logarithmic axis. */
export const DECISION_SECONDS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100];
/**
 * The fullest of so many hosts that fit, in the figures that the paper drew with Google's real placement algorithm. That
 * one is unknown; scoring makes schedulers reach for the same hosts, the more the larger the sample.
 */
const SCORED_SAMPLE = 4;

type Changes = Partial<Omit<PointSpec, 'cell' | 'load'>>;

/** The light simulator's set-up: one scheduler a class, identical hosts, randomised first fit. */
export function lightSpec(
  cell: CellName,
  days: number,
  settings: FigureSettings,
  changes: Changes,
): PointSpec {
  const named = CELLS[cell];
  return {
    cell: named.cell,
    load: named.load,
    arrivalScale: { batch: settings.arrivalScale, service: settings.arrivalScale },
    design: 'shared-state',
    schedulers: { batch: 1, service: 1 },
    decision: { batch: DEFAULT_DECISION, service: DEFAULT_DECISION },
    conflictCheck: 'resource-fit',
    atomicity: 'incremental',
    endsMove: false,
    placement: RANDOM_FIRST_FIT,
    elastic: null,
    retry: OMEGA_RETRY,
    horizonSeconds: settings.horizonSeconds ?? days * DAY_SECONDS,
    seed: settings.seed,
    ...changes,
  };
}

/** The stand-in for the high-fidelity simulator: hosts of several kinds, picky jobs, scored placement. */
export function lifelikeSpec(
  cell: CellName,
  days: number,
  settings: FigureSettings,
  changes: Changes,
): PointSpec {
  const named = closerToLife(CELLS[cell]);
  const light = lightSpec(cell, days, settings, changes);
  return {
    ...light,
    cell: named.cell,
    load: named.load,
    placement: changes.placement ?? { sample: SCORED_SAMPLE },
  };
}

export const decision = (jobSeconds: number, taskSeconds = DEFAULT_DECISION.taskSeconds) => ({
  ...{ jobSeconds, taskSeconds },
});

export function curvesByCell(
  settings: FigureSettings,
  cells: readonly CellName[],
  values: readonly number[],
  specAt: (cell: CellName, x: number) => PointSpec,
): Curve[] {
  return (settings.cells ?? cells).map((cell) => ({
    label: `cell ${cell}`,
    cell,
    points: (settings.values ?? values).map((x) => ({ x, spec: specAt(cell, x) })),
  }));
}
