/**
 * Verbs that simulate in virtual time, without a cell.
 *
 * - `cells.ts` lists the cells of Omega's experiments; `figures.ts` runs the experiments behind its figures.
 * - `run.ts` runs a workload under one design or several; `run-spec.ts` makes the simulator's input of the flags.
 * - `workload/` reads workloads and traces, `sweep/` runs points on several threads and keeps their results, `report/` writes
 *   tables and plots.
 * - `seeds/` runs the production roles in the simulated world.
 */
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { OmegaOptions } from './figures.ts';
import type { RunDesign } from './run-spec.ts';
import type { SimRunOptions } from './run.ts';
import type { GlobalOptions } from '../command/context.ts';
import { ALL } from './workload/trace-choice.ts';
import { addSeedVerbs } from './seeds/seeds.ts';
import type { ProgramInput } from '../command/command.ts';
import { collect, verb, wholeNumber } from '../command/command.ts';

const SEED_MAX = 2 ** 32 - 1;
const THREADS_MAX = 64;
const HOURS_MAX = 24 * 366;
const DAYS_MAX = 366;
const SCHEDULERS_MAX = 1024;
const JOBS_MAX = 10_000_000;
const SAMPLE_MAX = 100_000;
const VALUES_MAX = 200;
const CELLS = ['A', 'B', 'C', 'D', 'example'];
const DESIGNS: readonly RunDesign[] = ['monolithic', 'multi-path', 'two-level', 'shared-state'];
const LARGEST = 1e9;

export function addSimVerbs(program: Command, { run }: ProgramInput): void {
  const sim = program.command('sim').description('simulate cells in virtual time').enablePositionalOptions();
  verb(sim, 'cells', "the cells that Omega's experiments run on").action((options: GlobalOptions) =>
    run(options, async (context) => (await import('./cells.ts')).simCells(context)),
  );
  addOmega(sim, run);
  addRun(sim, run);
  addCompare(sim, run);
  addSeedVerbs(sim, run);
}

function addOmega(sim: Command, run: ProgramInput['run']): void {
  const omega = verb(
    sim,
    'omega <figure...>',
    "Omega's experiments: 5a 5b 5c (= 6a 6b 6c), 7, 8, 9, 10, 12, 13, 14, 15 (= 16); 5 or 6 for three of them, or all",
  )
    .addOption(
      new Option('--cell <name>', "instead of the figure's own cells; repeat it for several")
        .argParser((value: string, previous: string[]) => collect(oneOf(CELLS)(value), previous))
        .default([]),
    )
    .option('--hours <n>', 'simulated time, instead of what the paper took', number(0.01, HOURS_MAX))
    .addOption(
      new Option('--days <n>', 'the same in days').argParser(number(0.01, DAYS_MAX)).conflicts('hours'),
    )
    .option('--values <list>', 'the swept values, separated by commas', numbers, [])
    .option('--scale <x>', 'multiply how many jobs are submitted', number(0.001, 1000), 1);
  common(omega, '.moorage/omega').action((figures: string[], options: OmegaOptions & GlobalOptions) =>
    run(options, async (context) => (await import('./figures.ts')).simOmega(context, figures, options)),
  );
}

interface RunVerbOptions extends SimRunOptions, GlobalOptions {
  readonly design: RunDesign;
}

interface CompareVerbOptions extends SimRunOptions, GlobalOptions {
  readonly designs: RunDesign[];
}

function addRun(sim: Command, run: ProgramInput['run']): void {
  const one = verb(
    sim,
    'run <workload>',
    'a workload of your own: YAML, NDJSON, an SWF log, or a folder of openb-2023',
  );
  one.addOption(
    new Option('--design <name>', 'how schedulers share the cell').choices(DESIGNS).default('shared-state'),
  );
  common(runFlags(one), '.moorage/sim-run').action((path: string, options: RunVerbOptions) =>
    run(options, async (context) =>
      (await import('./run.ts')).simRun(context, path, [options.design], options),
    ),
  );
}

function addCompare(sim: Command, run: ProgramInput['run']): void {
  const several = verb(sim, 'compare <workload>', 'the same workload under several designs').option(
    '--designs <list>',
    'which, separated by commas',
    (text) => text.split(',').map((name) => oneOf(DESIGNS)(name)),
    [...DESIGNS],
  );
  common(runFlags(several), '.moorage/sim-compare').action((path: string, options: CompareVerbOptions) =>
    run(options, async (context) =>
      (await import('./run.ts')).simRun(context, path, options.designs, options),
    ),
  );
}

function common(command: Command, out: string): Command {
  return command
    .option('--seed <n>', 'of all chance', wholeNumber(0, SEED_MAX), 1)
    .option('--out <folder>', 'where the report, the CSV files and the finished points go', out)
    .option(
      '--threads <n>',
      'points at the same time; as many as processors without it',
      wholeNumber(1, THREADS_MAX),
    )
    .option('--resume', 'take up the points that an earlier run left in the folder', false);
}

function runFlags(command: Command): Command {
  return command
    .option('--schedulers <n>', 'for batch jobs', wholeNumber(1, SCHEDULERS_MAX), 1)
    .option('--service-schedulers <n>', 'for service jobs', wholeNumber(1, SCHEDULERS_MAX), 1)
    .addOption(
      new Option(
        '--conflict-check <kind>',
        'what is a conflict: what no longer fits, or any change of the host',
      )
        .choices(['resource-fit', 'version'])
        .default('resource-fit'),
    )
    .addOption(
      new Option('--commit <kind>', 'of jobs that are no gang')
        .choices(['incremental', 'all-or-nothing'])
        .default('incremental'),
    )
    .option('--t-job <seconds>', 'decision time for each job', number(0, LARGEST), 0.1)
    .option('--t-task <seconds>', 'and for each task', number(0, LARGEST), 0.005)
    .option('--service-t-job <seconds>', 'for service jobs; as --t-job without it', number(0, LARGEST))
    .option('--service-t-task <seconds>', 'for their tasks', number(0, LARGEST))
    .option('--sample <n>', 'the fullest of n hosts that fit; 1: any', wholeNumber(1, SAMPLE_MAX), 1)
    .option(
      '--ends-move',
      'the end of a task counts as a change of its host (with --conflict-check version)',
      false,
    )
    .addOption(
      new Option(
        '--retry <rule>',
        'omega: again after 1 s, give up in the end; patient: when there is room, for ever',
      )
        .choices(['omega', 'patient', 'auto'])
        .default('auto', 'patient for traces'),
    )
    .option('--scale <x>', 'multiply how many jobs are submitted a second', number(0.000_001, 1_000_000), 1)
    .option('--hours <n>', 'simulated time, instead of what the workload says', number(0.01, HOURS_MAX))
    .option('--jobs <n>', 'the first n jobs of a trace', wholeNumber(1, JOBS_MAX))
    .option('--list <name>', 'openb: which pods', ALL.list)
    .addOption(new Option('--nodes <list>', 'openb: which hosts').choices(['all', 'gpu']).default(ALL.nodes));
}

function number(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`expected a number from ${String(least)} to ${String(most)}`);
  };
}

function numbers(text: string): number[] {
  const parts = text.split(',');
  if (parts.length > VALUES_MAX) throw new InvalidArgumentError(`more than ${String(VALUES_MAX)} values`);
  return parts.map(number(0.000_001, LARGEST)).sort((a, b) => a - b);
}

function oneOf<T extends string>(choices: readonly T[]): (text: string) => T {
  return (text) => {
    const found = choices.find((choice) => choice === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`expected one of ${choices.join(', ')}`);
  };
}
