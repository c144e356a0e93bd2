/**
 * `moorage dev`: a development cell, all roles on this machine.
 *
 * - `run-dev.ts` is the verb: it brings the cell up, shows the demonstration, and stays until it is interrupted.
 * - `dev-cell.ts` says what is in the cell: hosts, schedulers, monitors, arbiters; `cli/local-cell` starts them.
 * - `usual-cell.ts` is its size unless flags say another.
 * - `demonstration.ts` shows a job, a one-off run and a conflict; `collision.ts` provokes the conflict.
 * - `chaos.ts` kills one of its processes after the other.
 * - `page-link.ts` makes a link to the page that lets its user in.
 * - `running-cells.ts` lists and stops the cells of this folder: `moorage dev status`, `moorage dev stop`.
 */
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { SchedulerKind } from '../../src/core/cell/job.ts';
import { SCHEDULER_KINDS } from '../../src/core/cell/job.ts';
import type { GlobalOptions } from '../command/context.ts';
import type { ProgramInput } from '../command/command.ts';
import { verb, wholeNumber } from '../command/command.ts';
import type { DevOptions } from './run-dev.ts';
import { USUAL_CELL } from './usual-cell.ts';

/** More processes than these do not fit a developer's machine. */
const HOSTS_MAX = 32;
const MONITORS_MAX = 8;
const ARBITERS_MAX = 8;
const SCHEDULERS_MAX = 16;

/** `batch,batch,service` */
function schedulerKinds(value: string): readonly SchedulerKind[] {
  const kinds = value.split(',');
  if (kinds.length > SCHEDULERS_MAX) throw new InvalidArgumentError(`At most ${String(SCHEDULERS_MAX)}.`);
  return kinds.map((kind) => {
    const known = SCHEDULER_KINDS.find((one) => one === kind);
    if (known === undefined)
      throw new InvalidArgumentError(`"${kind}" is none of ${SCHEDULER_KINDS.join(', ')}.`);
    return known;
  });
}

export function addDevVerb(program: Command, { run }: ProgramInput): void {
  const dev = verb(
    program,
    'dev',
    'bring up a whole cell on this machine, show what it does, stay until Ctrl-C',
  )
    .option('--once', 'end after the demonstration and leave nothing behind', false)
    .option('--no-demo', 'only bring it up')
    .option('--hosts <n>', 'host-agents', wholeNumber(1, HOSTS_MAX), USUAL_CELL.hosts)
    .option('--monitors <n>', 'monitors', wholeNumber(1, MONITORS_MAX), USUAL_CELL.monitors)
    .option('--arbiters <n>', 'arbiters', wholeNumber(1, ARBITERS_MAX), USUAL_CELL.arbiters)
    .option(
      '--schedulers <kinds>',
      'one for each kind that is named; several of a kind compete',
      schedulerKinds,
      USUAL_CELL.schedulers,
    )
    .option('--name <name>', 'name of the cell and of its folder under .moorage/cells', 'dev')
    .option('--fresh', 'forget the data of the last start', false)
    .option(
      '--certificate-ttl <time>',
      'how long certificates count; they are renewed after a third of it',
      '24h',
    )
    .option('--chaos <time>', 'kill one of its processes about so often, to watch the others go on')
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
