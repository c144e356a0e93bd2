import type { Command } from 'commander';
import type { GlobalOptions } from '../command/context.ts';
import type { ProgramInput } from '../program.ts';
import { verb, wholeNumber } from '../command/command.ts';
import { onParentGone } from '../command/parent-gone.ts';

interface DevFlags extends GlobalOptions {
  readonly once: boolean;
  readonly demo: boolean;
  readonly hosts: number;
  readonly monitors: number;
  readonly name: string;
  readonly fresh: boolean;
}

/** More processes than these do not fit a developer's machine. */
const HOSTS_MAX = 32;
const MONITORS_MAX = 8;

/** The development cell: all roles on this machine. */
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
    .action((options: DevFlags) =>
      run(options, async (context) => {
        context.endInOrder();
        const gone = new AbortController();
        onParentGone(context.terminal.env, () => gone.abort());
        const interrupted = AbortSignal.any([context.interrupted, gone.signal]);
        return (await import('./run-dev.ts')).dev({ ...options, base: process.cwd() }, interrupted);
      }),
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
