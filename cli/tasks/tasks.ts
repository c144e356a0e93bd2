/**
 * Verbs about what runs inside one allocation, which is named as a job that has only one, as `web[2]`, or by its id.
 *
 * - `logs.ts` prints the output of a job's allocations, merged by line; `run` of `cli/jobs` follows a job with it.
 * - `last-lines.ts` keeps the last lines of an output. `relay.ts` reads one output stream byte by byte, over an outage of the monitors; `logs` and one-off runs use it.
 * - `exec.ts` starts a command inside an allocation, `attach.ts` joins a task that runs there.
 * - `attach-terminal.ts` connects both of them with this terminal; `own-input.ts` reads what is typed here or piped in.
 * - `cp/` copies files and folders in and out.
 */
import type { Command } from 'commander';
import type { ProgramInput } from '../command/command.ts';
import { cellVerb, wholeNumber } from '../command/command.ts';
import type { GlobalOptions } from '../command/context.ts';
import { usageError } from '../command/exit.ts';
import type { AttachFlags } from './attach.ts';
import type { ExecOptions } from './exec.ts';
import type { LogsOptions } from './logs.ts';

const TAIL_MAX = 1_000_000;

export function addTaskVerbs(program: Command, { run, command }: ProgramInput): void {
  taskOption(
    cellVerb(program, 'logs <job>', 'output of a job, all its allocations; `web[2]` for one')
      .option('-f, --follow', 'go on until the job ends', false)
      .option('--stream <name>', 'stdout or stderr; both without it')
      .option('--tail <n>', 'the last lines of each stream only', wholeNumber(0, TAIL_MAX))
      .option('--group <name>', 'allocations of this group')
      .option('--index <n>', 'the allocation with this index')
      .option('--allocation <id>', 'this allocation'),
    'this task',
  ).action((job: string, options: GlobalOptions & LogsOptions) =>
    run(options, async (context) => (await import('./logs.ts')).logs(context, job, options)),
  );
  taskOption(
    cellVerb(
      program,
      'exec <allocation>',
      'run a command inside: exec web[2] -- ls /; a job with one, or an id',
    )
      .option('-i, --interactive', 'give it what is typed here', false)
      .option('-t, --tty', 'give it a terminal', false),
    'inside this task',
  ).action((allocation: string, options: GlobalOptions & ExecOptions) =>
    run(options, async (context) => {
      if (command === null || command.length === 0)
        throw usageError('name a command behind --', 'moorage exec web[0] -- ps');
      return (await import('./exec.ts')).exec(context, allocation, command, options);
    }),
  );
  taskOption(
    cellVerb(
      program,
      'attach <allocation>',
      'output and, where the task has `stdin: true`, input of what runs',
    ),
    'this task',
  )
    .option('--no-stdin', 'only output')
    .option('--take', 'type into it though somebody else does, who then no longer can', false)
    .action((allocation: string, options: GlobalOptions & AttachFlags) =>
      run(options, async (context) => (await import('./attach.ts')).attach(context, allocation, options)),
    );
  taskOption(
    cellVerb(
      program,
      'cp <from> <to>',
      'copy a file or a folder: web[2]:/etc/hosts here, or ./file web[2]:/tmp',
    ),
    'inside this task',
  ).action((from: string, to: string, options: GlobalOptions & { readonly task?: string }) =>
    run(options, async (context) => (await import('./cp/cp.ts')).cp(context, from, to, options)),
  );
}

function taskOption(verb: Command, meaning: string): Command {
  return verb.option('--task <name>', `${meaning}; the first that is no sidecar without it`);
}
