import type { Command } from 'commander';
import type { GlobalOptions } from '../context.ts';
import type { ProgramInput } from '../program.ts';
import { verb } from '../verbs.ts';

/** Verbs that simulate: no cell is needed, and time is virtual. */
export function addSimVerbs(program: Command, { run }: ProgramInput): void {
  program.commandsGroup('Simulation:');
  const sim = program.command('sim').description('simulate cells in virtual time').enablePositionalOptions();
  verb(sim, 'cells', "the cells that Omega's experiments run on").action((options: GlobalOptions) =>
    run(options, async (context) => (await import('../commands/sim-cells.ts')).simCells(context)),
  );
}
