import { Command } from 'commander';
import { addCellVerbs } from './cell/cell.ts';
import { addJobVerbs } from './jobs/jobs.ts';
import { addSimVerbs } from './sim/sim.ts';
import { addToolVerbs } from './tools/tools.ts';
import { addRoleVerbs } from './roles/roles.ts';
import type { Runner } from './command/command.ts';
import { globalOptions } from './command/command.ts';

export interface ProgramInput {
  readonly run: Runner;
  /** What stood behind `--`: null when there was none. */
  readonly command: readonly string[] | null;
}

/** All verbs and flags. Nothing is loaded for a verb before it is used. */
export function buildProgram(input: ProgramInput): Command {
  const program = new Command('moorage')
    .description('A cluster scheduler with shared state and no leader.')
    .configureHelp({ sortSubcommands: false, showGlobalOptions: false })
    .helpCommand('help [verb]', 'help for a verb')
    .showSuggestionAfterError(true)
    .showHelpAfterError('next: moorage help')
    .version('moorage', '-V, --version', 'see also: moorage version')
    .exitOverride();
  globalOptions(program);
  addJobVerbs(program, input);
  addCellVerbs(program, input);
  addToolVerbs(program, input);
  addSimVerbs(program, input);
  addRoleVerbs(program, input);
  return program;
}
