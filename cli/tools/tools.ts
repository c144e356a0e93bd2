import type { Command } from 'commander';
import { Option } from 'commander';
import type { GlobalOptions } from '../command/context.ts';
import type { ProgramInput } from '../program.ts';
import { cellVerb, collect, verb, wholeNumber } from '../command/command.ts';

/** Verbs about Moorage itself. */
export function addToolVerbs(program: Command, { run }: ProgramInput): void {
  program.commandsGroup('Tools:');
  verb(
    program,
    'check',
    'verify the history of the cell in etcd, revision by revision, against its invariants',
  )
    .option('--etcd <url>', 'the store; repeat it, or use commas, for several members', collect, [])
    .option('--cell <name>', 'name of the cell')
    .action((options: GlobalOptions & { etcd: string[]; cell?: string }) =>
      run(options, async (context) => (await import('../operator/check.ts')).check(context, options)),
    );
  verb(
    program,
    'restored',
    'say that the store was restored from a snapshot, or made anew after it was lost: hosts are asked what runs',
  )
    .option('--etcd <url>', 'the store; repeat it, or use commas, for several members', collect, [])
    .option('--cell <name>', 'name of the cell')
    .action((options: GlobalOptions & { etcd: string[]; cell?: string }) =>
      run(options, async (context) => (await import('../operator/restored.ts')).restored(context, options)),
    );
  verb(
    program,
    'keys <folder>',
    "make the keys of a cell's tickets: a secret one for its arbiters, a public one for its hosts",
  ).action((folder: string, options: GlobalOptions) =>
    run(options, async (context) => (await import('../operator/keys.ts')).keys(context, folder)),
  );
  addReplayVerb(program, run);
  verb(program, 'completion <shell>', 'a completion script for bash, zsh or fish').action(
    (shell: string, options: GlobalOptions) =>
      run(options, async (context) => {
        const verbs = program.commands.map((command) => command.name());
        return (await import('./completion.ts')).completion(context, shell, verbs);
      }),
  );
  program
    .command('fail-points')
    .description('the names that MOORAGE_FAILPOINT takes, as NAME:NTH:kill|throw|stall=SECONDS')
    .action(() => run({}, async (context) => (await import('./fail-points.ts')).listFailPoints(context)));
  cellVerb(program, 'version', 'version of this program and of the monitor').action(
    (options: GlobalOptions) =>
      run(options, async (context) => (await import('./version.ts')).version(context)),
  );
}

interface ReplayFlags extends GlobalOptions {
  readonly address: string[];
  readonly pods?: number;
  readonly schedulers: number;
  readonly list: string;
  readonly nodes: string;
  readonly seed?: number;
  readonly keep: boolean;
  readonly check: boolean;
  readonly conflictCheck?: string;
  readonly timeoutSeconds: number;
}

/** More than this many schedulers, or pods of one list, is a slip of the fingers. */
const SCHEDULERS_MAX = 64;
const PODS_MAX = 1_000_000;
const SEED_MAX = 2 ** 32 - 1;
const TIMEOUT_SECONDS_MAX = 24 * 3600;

function addReplayVerb(program: Command, run: ProgramInput['run']): void {
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
    .action((folder: string, options: ReplayFlags) =>
      run(options, async (context) =>
        (await import('../replay/run-replay.ts')).replay(context, folder, options),
      ),
    );
}
