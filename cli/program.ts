import { Command } from 'commander';
import { addCellVerbs } from './program/cell-verbs.ts';
import { addJobVerbs } from './program/job-verbs.ts';
import { addSimVerbs } from './program/sim-verbs.ts';
import { addToolVerbs } from './program/tool-verbs.ts';
import { addRoleVerbs } from './program/role-verbs.ts';
import type { Runner } from './verbs.ts';
import { globalOptions } from './verbs.ts';

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
