/**
 * `moorage dev`: a development cell, all roles on this machine.
 *
 * - `run-dev.ts` is the verb: it brings the cell up, shows the demonstration, and stays until it is interrupted.
 * - `dev-cell.ts` says what is in the cell: hosts, schedulers, monitors, two arbiters; `cli/local-cell` starts them.
 * - `demonstration.ts` shows a job, a one-off run and a conflict; `collision.ts` provokes the conflict.
 * - `page-link.ts` makes a link to the page that lets its user in.
 * - `running-cells.ts` lists and stops the cells of this folder: `moorage dev status`, `moorage dev stop`.
 */
import type { Command } from 'commander';
import type { GlobalOptions } from '../command/context.ts';
import type { ProgramInput } from '../command/command.ts';
import { verb, wholeNumber } from '../command/command.ts';
import type { DevOptions } from './run-dev.ts';

/** More processes than these do not fit a developer's machine. */
const HOSTS_MAX = 32;
const MONITORS_MAX = 8;

export function addDevVerb(program: Command, { run }: ProgramInput): void {
  const dev = verb(
    program,
    'dev',
    'bring up a whole cell on this machine, show what it does, stay until Ctrl-C',
  )
    .option('--once', 'end after the demonstration and leave nothing behind', false)
    .option('--no-demo', 'only bring it up')
    .option('--hosts <n>', 'host-agents', wholeNumber(1, HOSTS_MAX), 3)
    .option('--monitors <n>', 'monitors', wholeNumber(1, MONITORS_MAX), 2)
    .option('--name <name>', 'name of the cell and of its folder under .moorage/cells', 'dev')
    .option('--fresh', 'forget the data of the last start', false)
    .action((options: DevOptions & GlobalOptions) =>
      run(options, async (context) => (await import('./run-dev.ts')).dev(context, options)),
    );
  dev
    .command('stop')
    .description('stop the development cells that run from this folder')
    .action((options: GlobalOptions) =>
      run(options, async (context) => (await import('./running-cells.ts')).stopCells(context)),
    );
  dev
    .command('status')
    .description('name the development cells that run from this folder')
    .action((options: GlobalOptions) =>
      run(options, async (context) => (await import('./running-cells.ts')).listCells(context)),
    );
}
