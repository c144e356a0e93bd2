/**
 * The command line. `main.ts` is where a process starts; `command-line.ts` has its signals, and what becomes of output that no
 * reader takes. It calls `run-cli.ts`, which runs one command line and turns every error into a message and an exit code. This file lists the verbs, room by room;
 * what a verb does is loaded when it is called, so that `moorage help` stays quick.
 *
 * - `jobs/`: submit jobs, follow them, ask why they wait, stop them; `convert/` makes job files of others' files. `tasks/`: output, commands, input and files inside a task.
 * - `rollouts/`: versions of a job, and its updates.
 * - `cell/`: hosts, quotas, shared resources, volumes, pauses, schedulers, events.
 * - `endpoints/`: names of what runs, and who serves them.
 * - `access/`: tokens of people, secrets of jobs, the audit, and the cells that are called. `join/`: how a machine becomes a
 *   host. `bootstrap/`: how a cell comes to be on several.
 * - `operator/`: check and repair of the store, ticket keys, certificates. `tools/`: completion, fail-points, version.
 * - `sim/`: simulations in virtual time. `replay/`: a real trace on a real cell; `openb/` reads the trace's files.
 * - `code-cache/`: what V8 has compiled of all this, for later processes.
 * - `roles/`: the processes of a cell. `dev/`: a development cell; `local-cell/` starts its processes, as for a replay.
 *
 * All of them use `command/` (options, context, exit codes, files), `output/` (tables, JSON and YAML) and `names/` (what job or
 * allocation a typed name means).
 */
import { Command } from 'commander';
import { addAccessVerbs } from './access/access.ts';
import { addCellVerbs } from './cell/cell.ts';
import type { ProgramInput } from './command/command.ts';
import { globalOptions } from './command/command.ts';
import { addDevVerb } from './dev/dev.ts';
import { addNameVerbs } from './endpoints/endpoints.ts';
import { addJobVerbs } from './jobs/jobs.ts';
import { addOperatorVerbs } from './operator/operator.ts';
import { addReplayVerb } from './replay/replay.ts';
import { addRoleVerbs, ROLE_VERBS } from './roles/roles.ts';
import { addRolloutVerbs } from './rollouts/rollouts.ts';
import { addSimVerbs } from './sim/sim.ts';
import { addToolVerbs } from './tools/tools.ts';

/** `run-cli.ts` answers them: which version it is stands in a file that help need not read. */
export const VERSION_FLAGS = ['-V', '--version'] as const;

/**
 * @param input `verb`: the first word of the command line; where it is one, verbs of rooms behind its own are not made: to make
 *   all of them takes a tenth of a second in a process that has just started
 */
export function buildProgram(input: ProgramInput & { readonly verb?: string | undefined }): Command {
  const program = new Command('moorage')
    .description('A cluster scheduler with shared state and no leader.')
    .configureHelp({ sortSubcommands: false, showGlobalOptions: false })
    .helpCommand('help [verb]', 'help for a verb')
    .showSuggestionAfterError(true)
    .showHelpAfterError('next: moorage help')
    .version('moorage', VERSION_FLAGS.join(', '), 'see also: moorage version')
    .exitOverride();
  globalOptions(program);
  const isRole = input.verb !== undefined && ROLE_VERBS.includes(input.verb);
  if (isRole) {
    addRoleVerbs(program, input);
    return program;
  }
  for (const [group, rooms] of GROUPS) {
    program.commandsGroup(`${group}:`);
    for (const addVerbs of rooms) {
      addVerbs(program, input);
      // Verbs of this room tell of all the others.
      if (addVerbs !== addToolVerbs && knows(program, input.verb)) return program;
    }
  }
  return program;
}

function knows({ commands }: Command, verb: string | undefined): boolean {
  return verb !== undefined && commands.some((one) => one.name() === verb || one.aliases().includes(verb));
}

type AddVerbs = (program: Command, input: ProgramInput) => void;
type Group = readonly [string, readonly AddVerbs[]];

const GROUPS: readonly Group[] = [
  ['Jobs', [addJobVerbs, addRolloutVerbs, addNameVerbs]],
  ['Cell', [addCellVerbs]],
  ['Access', [addAccessVerbs]],
  ['Tools', [addOperatorVerbs, addReplayVerb, addToolVerbs]],
  ['Simulation', [addSimVerbs]],
  ['Roles', [addDevVerb, addRoleVerbs]],
];
