import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { ELASTIC_POLICIES } from '../../sim/omega/elastic/policy.ts';
import type { CurveResult, Figure, FigureSettings, Comparison } from '../../sim/omega/figures/figures.ts';
import { FIGURE_NAMES, figuresNamed } from '../../sim/omega/omega.ts';
import type { CellName } from '../../sim/omega/workload/cells.ts';
import type { Context } from '../command/context.ts';
import { EXIT, usageError } from '../command/exit.ts';
import { csvOf, speedUpsCsv, useCsv } from './report/csv.ts';
import { FOOTNOTES } from './report/footnotes.ts';
import { OutFolder } from './sweep/out-folder.ts';
import type { Page, Section } from './report/report.ts';
import { pageHtml } from './report/report.ts';
import { elasticPlots } from './report/plot/elastic.ts';
import { heatsOf } from './report/plot/heat.ts';
import { panelsOf } from './report/plot/panels.ts';
import type { NamedTask, Swept } from './sweep/sweep.ts';
import { sweep } from './sweep/sweep.ts';
import { keyOf } from './sweep/task.ts';
import { alarming } from '../output/colour.ts';
import { duration } from '../../src/wire/values/words.ts';

export interface OmegaOptions {
  readonly cell: readonly CellName[];
  readonly hours?: number;
  readonly days?: number;
  readonly seed: number;
  readonly values: readonly number[];
  readonly scale: number;
  readonly out: string;
  readonly threads?: number;
  readonly resume: boolean;
}

/** Runs the experiments behind the named figures and writes what came of them. */
export async function simOmega(
  context: Context,
  names: readonly string[],
  options: OmegaOptions,
): Promise<number> {
  const figures = [...new Set(names.flatMap(named))];
  context.endInOrder();
  const settings = settingsOf(options);
  const folder = new OutFolder(resolve(context.terminal.cwd, options.out));
  const tasks = figures.flatMap((figure) => tasksOf(figure, settings));
  const threads = options.threads ?? availableParallelism();
  const startMs = context.terminal.nowMs();
  const swept = await sweep(context, folder, tasks, { threads, resume: options.resume });
  const sections: Section[] = [];
  for (const figure of figures) {
    const curves = resultsOf(figure, settings, swept);
    const whole = curves.every(
      (curve, at) => curve.points.length === figure.curves(settings)[at]?.points.length,
    );
    const comparisons = whole ? figure.judge(curves) : [];
    await writeTables(folder, figure, curves);
    sections.push(sectionOf(figure, curves, comparisons));
    for (const one of comparisons) printComparison(context, figure, one);
  }
  const shapes = sections.flatMap(({ id, comparisons }) => shapesOf(id, comparisons));
  if (shapes.length > 0)
    context.terminal.err(`\nThe paper’s shapes:\n${shapes.map((line) => `  ${line}\n`).join('')}`);
  const file = await folder.writeFile('report.html', pageHtml(pageOf(sections, shapes, swept)));
  const took = duration(context.terminal.nowMs() - startMs);
  context.terminal.err(`${String(swept.points.size)} of ${String(swept.wanted)} points in ${took}\n`);
  context.terminal.out(`${file}\n`);
  if (!swept.interrupted) return EXIT.ok;
  context.terminal.err('interrupted: the report is partial; the same command with --resume goes on\n');
  return EXIT.signalBase + 2;
}

function named(name: string): readonly Figure[] {
  const found = figuresNamed(name);
  if (found.length === 0)
    throw usageError(`figure ${name}: expected one of ${FIGURE_NAMES.join(', ')}`, 'moorage sim omega 5');
  return found;
}

const HOUR_SECONDS = 3600;

function settingsOf(options: OmegaOptions): FigureSettings {
  const hours = options.hours ?? (options.days === undefined ? undefined : options.days * 24);
  return {
    seed: options.seed,
    arrivalScale: options.scale,
    ...(options.cell.length === 0 ? {} : { cells: options.cell }),
    ...(hours === undefined ? {} : { horizonSeconds: hours * HOUR_SECONDS }),
    ...(options.values.length === 0 ? {} : { values: options.values }),
  };
}

function tasksOf(figure: Figure, settings: FigureSettings): NamedTask[] {
  return figure.curves(settings).flatMap(({ label, points }) =>
    points.map(({ x, spec }) => ({
      ...{ spec, trace: null, name: `figure ${figure.id}, ${label}, ${String(x)}` },
    })),
  );
}

function resultsOf(figure: Figure, settings: FigureSettings, { points: known }: Swept): CurveResult[] {
  return figure.curves(settings).map(({ label, cell, row, points }) => ({
    ...{ label, cell, ...(row === undefined ? {} : { row }) },
    points: points.flatMap(({ x, spec }) => {
      const point = known.get(keyOf({ spec, trace: null }));
      return point === undefined ? [] : [{ x, result: point.result }];
    }),
  }));
}

function sectionOf(
  figure: Figure,
  curves: readonly CurveResult[],
  comparisons: readonly Comparison[],
): Section {
  const { id, title, setUp } = figure;
  const first = curves.flatMap(({ points }) => points)[0]?.result;
  const notes =
    first === undefined
      ? ['no point of it was finished']
      : [
          `Simulated ${duration(first.spec.horizonSeconds * 1000)} with seed ${String(first.spec.seed)}; medians and bars over ` +
            `${String(first.cpuUse.slices.length)} slices of ${duration(first.sliceSeconds * 1000)}.`,
          `The numbers: figure-${id}.csv, beside this file.`,
        ];
  const whole = comparisons.length > 0 ? [] : ['Not judged: some of its points are missing.'];
  const plots = plotsOf(figure, curves);
  return {
    ...{ id, title, setUp, plots, comparisons },
    curves: legendOf(figure, curves),
    notes: [...notes, ...whole],
  };
}

/** Labels in the order of their colours; a plot of one cell has a colour for each policy. */
function legendOf({ rows, shows }: Figure, curves: readonly CurveResult[]): readonly string[] {
  if (shows === 'speed-ups') return ELASTIC_POLICIES;
  return rows === undefined ? curves.map(({ label }) => label) : [];
}

function plotsOf({ axis, rows, classes, shows }: Figure, curves: readonly CurveResult[]): Section['plots'] {
  if (shows === 'speed-ups') return elasticPlots(axis, curves);
  return rows === undefined ? panelsOf(axis, classes, curves) : heatsOf(axis, rows, curves);
}

/** The numbers of a figure, each table in a file of its own. */
async function writeTables(
  folder: OutFolder,
  { id, shows }: Figure,
  curves: readonly CurveResult[],
): Promise<void> {
  await folder.writeFile(`figure-${id}.csv`, csvOf('x', curves));
  if (shows !== 'speed-ups') return;
  await folder.writeFile(`figure-${id}-speed-ups.csv`, speedUpsCsv(curves));
  await folder.writeFile(`figure-${id}-use.csv`, useCsv(curves));
}

function pageOf(sections: readonly Section[], shapes: readonly string[], swept: Swept): Page {
  return {
    title: 'Omega’s experiments on Moorage’s commit',
    lead:
      'The experiments of “Omega: flexible, scalable schedulers for large compute clusters” (EuroSys 2013), run again with the ' +
      'commit rules of Moorage: each of our curves beside what the paper states. The paper’s traces were never published, so ' +
      'the cells are stand-ins that meet what is known of them; shapes and ratios can be compared, absolute figures cannot.',
    partial: swept.interrupted
      ? `Partial: interrupted after ${String(swept.points.size)} of ${String(swept.wanted)} points.`
      : null,
    summary: shapes,
    sections,
    footnotes: FOOTNOTES,
  };
}

const MET = {
  agrees: 'met',
  partly: 'partly met',
  differs: 'not met',
  'not measured': 'not measured',
} as const;

/** One line for each of the paper's main findings that the figure shows. */
function shapesOf(id: string, comparisons: readonly Comparison[]): string[] {
  return comparisons.flatMap(({ shape, paper, ours, agrees, why }) =>
    shape === undefined
      ? []
      : [
          `${MET[agrees]}: ${shape} (figure ${id}; the paper: ${paper}). Ours: ${ours}${why === '' ? '' : `; why: ${why}`}`,
        ],
  );
}

function printComparison({ terminal }: Context, figure: Figure, { paper, ours, agrees }: Comparison): void {
  const word = agrees === 'differs' ? alarming(agrees, terminal.colour) : agrees;
  terminal.err(`figure ${figure.id}: ${paper}\n    ${word}: ${ours}\n`);
}
