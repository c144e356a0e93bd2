/**
 * Verbs about the program itself. Each loads its file when it is called:
 *
 * - `completion.ts` prints a completion script for bash, zsh or fish.
 * - `doctor.ts` looks whether this machine has what a cell needs; `machine-checks.ts` are its checks.
 * - `fail-points.ts` lists the names that `MOORAGE_FAILPOINT` takes.
 * - `health.ts` asks roles whether they are ready.
 * - `reference.ts` makes `docs/cli.md` and the man page of the verbs.
 * - `version.ts` prints the version of this program and of the monitor.
 */
import type { Command } from 'commander';
import type { ProgramInput } from '../command/command.ts';
import { cellVerb, verb } from '../command/command.ts';
import type { GlobalOptions } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';

export function addToolVerbs(program: Command, { run }: ProgramInput): void {
  verb(program, 'completion <shell>', 'a completion script for bash, zsh or fish').action(
    (shell: string, options: GlobalOptions) =>
      run(options, async (context) => {
        const verbs = program.commands.map((command) => command.name());
        return (await import('./completion.ts')).completion(context, shell, verbs);
      }),
  );
  cellVerb(
    program,
    'doctor',
    'what this machine lacks for a cell, and the remedy; exit code 1 when it cannot do',
  ).action((options: GlobalOptions) =>
    run(options, async (context) => (await import('./doctor.ts')).doctor(context)),
  );
  program
    .command('fail-points')
    .description('the names that MOORAGE_FAILPOINT takes, as NAME:NTH:kill|throw|stall=SECONDS')
    .action(() => run({}, async (context) => (await import('./fail-points.ts')).listFailPoints(context)));
  cellVerb(program, 'health [urls...]', 'ask roles, or the monitors of the cell, whether they are ready')
    .option('--live', 'only whether they live: they do while the store is away', false)
    .addHelpText('after', '\nexit codes: 0 all are; 1 one is not; 4 one does not answer\n')
    .action((urls: string[], options: GlobalOptions & { live: boolean }) =>
      run(options, async (context) => (await import('./health.ts')).health(context, urls, options)),
    );
  program
    .command('man')
    .description('the man page: moorage man | man -l -')
    .action(() =>
      run({}, async ({ terminal }) => {
        const [{ manPage }, { VERSION }] = await Promise.all([
          import('./reference.ts'),
          import('../command/version.ts'),
        ]);
        terminal.out(manPage(program, VERSION));
        return EXIT.ok;
      }),
    );
  cellVerb(program, 'version', 'version of this program and of the monitor').action(
    (options: GlobalOptions) =>
      run(options, async (context) => (await import('./version.ts')).version(context)),
  );
}
