/**
 * The experiments of the Omega paper (Schwarzkopf et al., EuroSys 2013) on a model of a cell: hosts, jobs and decision times, and this
 * project's own commit rules, but no roles, no network and no store.
 *
 * - `workload`: jobs and cells, drawn from distributions or read from a trace
 * - `model`: schedulers of three designs on one shared cell
 * - `elastic`: a MapReduce scheduler beside them, which grows jobs into idle resources (section 6 of the paper)
 * - `point`: one simulated run, from its spec to its result
 * - `figures`: the paper's figures, each as a set of runs and a comparison with what the paper says
 *
 * This file finds a figure by its name.
 */
import { ELASTIC } from './figures/elastic.ts';
import type { Figure } from './figures/figures.ts';
import { CONFLICT_MODES, THREE_SCHEDULERS } from './figures/lifelike.ts';
import { LONG_DECISIONS } from './figures/long-decisions.ts';
import { MULTI_PATH, SINGLE_PATH } from './figures/monolithic.ts';
import { BATCH_LOAD, MANY_SCHEDULERS } from './figures/scaling.ts';
import { SHARED_STATE } from './figures/shared-state.ts';
import { SURFACES } from './figures/surfaces.ts';
import { TWO_LEVEL } from './figures/two-level.ts';

export const FIGURES: readonly Figure[] = [
  SINGLE_PATH,
  MULTI_PATH,
  SHARED_STATE,
  TWO_LEVEL,
  BATCH_LOAD,
  MANY_SCHEDULERS,
  SURFACES,
  LONG_DECISIONS,
  THREE_SCHEDULERS,
  CONFLICT_MODES,
  ELASTIC,
];

/**
 * The experiments of a figure by its name: `5` and `6` are three each, `all` is every one.
 * @returns empty: there is no such figure
 */
export function figuresNamed(name: string): readonly Figure[] {
  const asked = name.toLowerCase();
  if (asked === 'all') return FIGURES;
  return FIGURES.filter(({ id, aliases }) =>
    [id, ...aliases].some((one) => one === asked || one.replace(/[abc]$/, '') === asked),
  );
}

export const FIGURE_NAMES: readonly string[] = [
  '5',
  '6',
  ...FIGURES.flatMap(({ id, aliases }) => [id, ...aliases]),
  'all',
];
