import type { Command } from 'commander';
import type { GlobalOptions } from '../context.ts';
import type { ProgramInput } from '../program.ts';
import { cellVerb, verb } from '../verbs.ts';

/** Verbs about Moorage itself. */
export function addToolVerbs(program: Command, { run }: ProgramInput): void {
  program.commandsGroup('Tools:');
  verb(program, 'completion <shell>', 'a completion script for bash, zsh or fish').action(
    (shell: string, options: GlobalOptions) =>
      run(options, async (context) => {
        const verbs = program.commands.map((command) => command.name());
        return (await import('../commands/completion.ts')).completion(context, shell, verbs);
      }),
  );
  cellVerb(program, 'version', 'version of this program and of the monitor').action(
    (options: GlobalOptions) =>
      run(options, async (context) => (await import('../commands/version.ts')).version(context)),
  );
}
