import type { Command } from 'commander';
import { Option } from 'commander';
import type { GlobalOptions } from '../context.ts';
import type { ProgramInput } from '../program.ts';
import type { ArbiterFlags } from '../roles/arbiter.ts';
import type { MonitorFlags } from '../roles/monitor.ts';
import { collect, wholeNumber } from '../verbs.ts';

/** More hosts or monitors than this on one machine are a slip of the fingers. */
const DEV_HOSTS_MAX = 64;
const DEV_MONITORS_MAX = 8;

/** The roles of a cell as verbs, and the development cell that starts them all. */
export function addRoleVerbs(program: Command, { run }: ProgramInput): void {
  program.commandsGroup('Roles:');
  addDevVerb(program, run);
  roleVerb(program, 'monitor', 'merges what hosts report, and serves the API')
    .option('--lost-after <time>', 'from the end of a host\'s session to the verdict "lost" (default: 30s)')
    .option('--run-retention <time>', 'how long an ended one-off run is kept (default: 1h)')
    .action((flags: MonitorFlags) =>
      run({}, async (context) => (await import('../roles/monitor.ts')).serveMonitor(context, flags)),
    );
  roleVerb(program, 'arbiter', 'grants signed tickets within quotas')
    .option('--keys <folder>', "holds the arbiters' secret key")
    .action((flags: ArbiterFlags) =>
      run({}, async (context) => (await import('../roles/arbiter.ts')).serveArbiter(context, flags)),
    );
}

function roleVerb(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('--cell <name>', 'name of the cell', 'default')
    .option('--etcd <url>', 'the store; repeat it, or use commas, for several members', collect, [])
    .option('--id <name>', 'unique in the cell')
    .option('--listen <host:port>', 'where it serves; port 0 takes any free one', '127.0.0.1:0')
    .addOption(
      new Option('--log-level <level>', 'what is logged')
        .choices(['debug', 'info', 'warn', 'error', 'silent'])
        .default('info'),
    )
    .option('--log-file <path>', 'where it logs; standard error without it');
}

interface DevFlags extends GlobalOptions {
  readonly once: boolean;
  readonly demo: boolean;
  readonly hosts: number;
  readonly monitors: number;
  readonly name: string;
  readonly fresh: boolean;
}

function addDevVerb(program: Command, run: ProgramInput['run']): void {
  program
    .command('dev')
    .description('a whole cell on this machine, until Ctrl-C')
    .option('--once', 'show the demonstration, then stop and leave nothing behind', false)
    .option('--no-demo', 'bring the cell up and no more')
    .option('--hosts <n>', 'host-agents', wholeNumber(1, DEV_HOSTS_MAX), 3)
    .option('--monitors <n>', 'monitors', wholeNumber(1, DEV_MONITORS_MAX), 2)
    .option('--name <name>', 'name of the cell, and of its data folder', 'dev')
    .option('--fresh', 'forget the data of the last start', false)
    .action((flags: DevFlags) =>
      run({}, async ({ terminal, interrupted }) =>
        (await import('../dev/dev.ts')).dev({ ...flags, base: terminal.cwd }, interrupted),
      ),
    );
}
