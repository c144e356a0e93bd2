import type { Command } from 'commander';
import type { ProgramInput } from '../program.ts';

/** The roles of a cell as verbs, and the development cell that starts them all. */
export function addRoleVerbs(program: Command, _input: ProgramInput): void {
  program.commandsGroup('Roles:');
}
