/**
 * `moorage replay`: a real trace (openb-2023), placed by competing schedulers on hollow hosts. The verb loads `run-replay.ts`,
 * which goes through the files in this order:
 *
 * 1. `own-cell.ts` brings up a cell with the hosts of the trace, unless `--address` names one.
 * 2. `submit.ts` submits each pod as a job.
 * 3. `settle.ts` waits until every pod is placed or no scheduler makes progress, and asks why the others wait.
 * 4. `report.ts` computes and prints the result; then `check` of `cli/operator` verifies the history.
 */
import type { Command } from 'commander';
import { Option } from 'commander';
import type { ProgramInput } from '../command/command.ts';
import { collect, verb, wholeNumber } from '../command/command.ts';
import type { GlobalOptions } from '../command/context.ts';
import type { ReplayOptions } from './run-replay.ts';

/** More than this many schedulers, or pods of one list, is a slip of the fingers. */
const SCHEDULERS_MAX = 64;
const PODS_MAX = 1_000_000;
const SEED_MAX = 2 ** 32 - 1;
const TIMEOUT_SECONDS_MAX = 24 * 3600;

export function addReplayVerb(program: Command, { run }: ProgramInput): void {
  verb(
    program,
    'replay <folder>',
    'load a real trace (openb-2023) onto hollow hosts with competing schedulers',
  )
    .option('--pods <n>', 'the first n pods of the list; all without it', wholeNumber(1, PODS_MAX))
    .option('--schedulers <k>', 'batch schedulers that compete', wholeNumber(1, SCHEDULERS_MAX), 4)
    .option('--list <name>', 'which pods: default, cpu100, gpuspec20, multigpu30, ...', 'default')
    .addOption(
      new Option('--nodes <list>', 'which hosts: all 1,523, or the 1,213 with GPUs')
        .choices(['all', 'gpu'])
        .default('all'),
    )
    .option('--seed <n>', 'shuffle the pods; in the order of the file without it', wholeNumber(0, SEED_MAX))
    .addOption(
      new Option('--conflict-check <kind>', 'of the schedulers').choices(['resource-fit', 'version']),
    )
    .option(
      '--timeout-seconds <n>',
      'give up waiting after this time',
      wholeNumber(1, TIMEOUT_SECONDS_MAX),
      900,
    )
    .option('--keep', 'leave the cell up until Ctrl-C', false)
    .option('--no-check', 'do not verify the history at the end')
    .option('--address <url>', 'use a cell that runs already', collect, [])
    .action((folder: string, options: ReplayOptions & GlobalOptions) =>
      run(options, async (context) => (await import('./run-replay.ts')).replay(context, folder, options)),
    );
}
