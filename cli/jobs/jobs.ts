/**
 * Verbs about jobs, in the order of a job's life:
 *
 * - `validate.ts` checks job files, `lint.ts` says what could be better in them, `fmt.ts` brings them into one form; `explain.ts` prints what their fields mean.
 * - `run-file.ts` submits a file and follows the job; `up-watch.ts` tells whether a service stays up.
 * - `run-once.ts` runs one command as if it ran here; `run-input.ts` gives it the input of this process. Its job
 *   is of `one-off-file.ts`; `run-again.ts` runs what has ended once more. All submit through `while-store-away.ts`, which
 *   waits for a store that is away.
 * - `ps.ts` lists jobs and allocations, `top.ts` what they use; `status.ts` shows one job, `why.ts` why it is not placed.
 * - `stop.ts` stops and deletes jobs, `gc.ts` deletes those that have ended, `wait.ts` waits for a phase, `timeout.ts` reads for how long.
 *
 * `logs`, `exec`, `attach` and `cp`, which stand between `why` and `stop`, are in `cli/tasks`.
 */
import type { Command } from 'commander';
import type { ConvertOptions } from '../convert/convert.ts';
import type { GcOptions } from './gc.ts';
import type { RunFileOptions } from './run-file.ts';
import type { RunOnceOptions } from './one-off-file.ts';
import type { WaitOptions } from './wait.ts';
import type { GlobalOptions } from '../command/context.ts';
import { usageError } from '../command/exit.ts';
import type { ProgramInput } from '../command/command.ts';
import { cellVerb, collect, shownVerb, verb, wholeNumber } from '../command/command.ts';
import { addTaskVerbs } from '../tasks/tasks.ts';

/** Versions count submissions of one job. */
const VERSION_MAX = 999_999_999;

type RunOptions = GlobalOptions & RunFileOptions & RunOnceOptions & { readonly again?: string };

/** As in a job file. */
const RETRIES_MAX = 1_000;

/** Flags of `run` that mean nothing for the other of the two things that it takes. */
const FILE_FLAGS: ReadonlySet<string> = new Set(['timeout', 'checkVersion', 'logs']);
const COMMAND_FLAGS: ReadonlySet<string> = new Set(
  'cpu memory disk gpu deadline waitMax priority env constraint interactive tty stdin retries array'.split(
    ' ',
  ),
);
/** What `--again` takes beside the name. */
const AGAIN_FLAGS: ReadonlySet<string> = new Set([
  'again',
  'name',
  'detach',
  'stdin',
  'output',
  'address',
  'namespace',
]);
const OF_FILES = [
  'is for a job file, and would do nothing for a command',
  'moorage run --deadline 5m --wait-max 1m -- COMMAND   (how long it may run, and wait for a place)',
] as const;
const OF_COMMANDS = [
  'is for a command behind --; a job file says that itself',
  'moorage explain job   (and write it into the file)',
] as const;

/** A flag is obeyed or refused, never ignored. @throws CliError */
function refuseFlags(verb: Command, flags: ReadonlySet<string>, why: string, next: string): void {
  for (const option of verb.options) {
    const name = option.attributeName();
    if (flags.has(name) && verb.getOptionValueSource(name) === 'cli')
      throw usageError(`${option.long ?? name} ${why}`, next);
  }
}

export function addJobVerbs(program: Command, { run, command }: ProgramInput): void {
  cellVerb(
    program,
    'run [file]',
    'submit a job file and follow it, or: run [flags] -- COMMAND, as if it ran here',
  )
    .option('-d, --detach', 'print the id and return', false)
    .option('--name <name>', 'name of the one-off run, or of the job instead of the one in the file')
    .option('--cpu <amount>', 'cores ("2", "0.5") or millicores ("500m")')
    .option('--memory <size>', 'such as 256Mi')
    .option('--disk <size>', 'such as 1Gi')
    .option('--gpu <amount>', 'whole devices ("1"), or a part of one ("0.5", "500m")')
    .option('--deadline <time>', 'run time after which it is stopped, such as 5m')
    .option('--wait-max <time>', 'how long it may wait for a place')
    .option('--priority <n>', '0 to 100')
    .option('-e, --env <name=value>', 'environment variable; may be repeated', collect, [])
    .option('--constraint <expression>', 'such as "host.zone == a"; may be repeated', collect, [])
    .option(
      '-i, --interactive',
      'command: give it what is typed here; what is piped in it gets anyway',
      false,
    )
    .option('-t, --tty', 'command: give it a terminal', false)
    .option('--no-stdin', 'command: give it no input, though some is piped in')
    .option('--retries <n>', 'command: start it again when it fails, so often', wholeNumber(0, RETRIES_MAX))
    .option('--array <first-last>', 'command: once for each index, which is in MOORAGE_ARRAY_INDEX')
    .option('--again <job>', 'an ended batch job or run once more: the same spec, a new id')
    .option('--timeout <time>', 'file: give up following after this time')
    .option(
      '--check-version <n>',
      'file: submit only if this version is there now (0: none)',
      wholeNumber(0, VERSION_MAX),
    )
    .option('--logs', 'file: show the output of the job while following', false)
    .addHelpText(
      'after',
      '\nexamples:\n  moorage run examples/hello.yaml\n  moorage run --cpu 500m -- sh -c "echo hello"\n',
    )
    .action((file: string | undefined, options: RunOptions, verb: Command) =>
      run(options, async (context) => {
        if (options.again !== undefined) {
          if (file !== undefined || command !== null)
            throw usageError(
              '--again takes the job that ran, and neither file nor command',
              'moorage run --help',
            );
          const others = verb.options
            .map((option) => option.attributeName())
            .filter((one) => !AGAIN_FLAGS.has(one));
          refuseFlags(verb, new Set(others), 'would change what ran', `moorage run --again ${options.again}`);
          return (await import('./run-again.ts')).runAgain(context, options.again, options);
        }
        if (file !== undefined && command !== null)
          throw usageError(`a file (${file}) and a command are too much for one run`, 'moorage run --help');
        if (file !== undefined) refuseFlags(verb, COMMAND_FLAGS, ...OF_COMMANDS);
        if (command !== null) refuseFlags(verb, FILE_FLAGS, ...OF_FILES);
        if (file !== undefined) return (await import('./run-file.ts')).runFile(context, file, options);
        if (command === null || command.length === 0)
          throw usageError('name a job file, or a command behind --', 'moorage run -- echo hello');
        return (await import('./run-once.ts')).runOnce(context, command, options);
      }),
    );
  cellVerb(
    program,
    'gc',
    'delete ended jobs and one-off runs now, before their time, with what is kept of them',
  )
    .option('--older-than <time>', 'those that ended longer ago than this', '0s')
    .option('--dry-run', 'say which they are, and change nothing', false)
    .option('-A, --all-namespaces', 'of all namespaces', false)
    .action((options: GlobalOptions & GcOptions) =>
      run(options, async (context) => (await import('./gc.ts')).gc(context, options)),
    );
  verb(program, 'validate <files...>', 'check job files; needs no cell').action(
    (files: string[], options: GlobalOptions) =>
      run(options, async (context) => (await import('./validate.ts')).validate(context, files)),
  );
  verb(program, 'lint <files...>', 'say what valid job files leave to chance; needs no cell')
    .option('--strict', 'exit code 1 when there is anything to say', false)
    .action((files: string[], options: GlobalOptions & { strict: boolean }) =>
      run(options, async (context) => (await import('./lint.ts')).lint(context, files, options)),
    );
  verb(program, 'fmt <files...>', 'bring job files into their one form; comments stay. - is standard input')
    .option('--check', 'write nothing; exit code 1 when a file is in another form', false)
    .action((files: string[], options: GlobalOptions & { check: boolean }) =>
      run(options, async (context) => (await import('./fmt.ts')).fmt(context, files, options)),
    );
  verb(
    program,
    'convert <file>',
    'a job file in YAML as JSON, or back; or job files of a compose file, Procfile, Nomad or Kubernetes job',
  )
    .option(
      '--from <kind>',
      'moorage, compose, kubernetes, nomad or procfile (default: by what is in the file)',
    )
    .option('--to <form>', 'yaml or json')
    .option('--name <name>', 'name of the job, where the file has none')
    .option('--dir <folder>', 'write each job into a file of its name there')
    .action((file: string, options: GlobalOptions & ConvertOptions) =>
      run(options, async (context) =>
        (await import('../convert/convert.ts')).convert(context, file, options),
      ),
    );
  verb(
    program,
    'explain [path]',
    'what a field of the job file means, such as group.reschedule; `job -o json`: the schema',
  ).action((path: string | undefined, options: GlobalOptions) =>
    run(options, async (context) => (await import('./explain.ts')).explain(context, path ?? 'job')),
  );
  shownVerb(program, 'ps [job]', 'list jobs, or the allocations of one')
    .option('-A, --all-namespaces', 'jobs of all namespaces', false)
    .action((job: string | undefined, options: GlobalOptions & { allNamespaces: boolean }) =>
      run(options, async (context) =>
        (await import('./ps.ts')).ps(context, job, { all: options.allNamespaces }),
      ),
    );
  shownVerb(program, 'top [job]', 'what runs, and what it uses of what it asked for')
    .option('-A, --all-namespaces', 'jobs of all namespaces', false)
    .action((job: string | undefined, options: GlobalOptions & { allNamespaces: boolean }) =>
      run(options, async (context) =>
        (await import('./top.ts')).top(context, job, { all: options.allNamespaces }),
      ),
    );
  shownVerb(
    program,
    'status [job]',
    'a job, where it is, and how its parts ended; without one the cell, its store, and what hosts share',
  ).action((job: string | undefined, options: GlobalOptions) =>
    run(options, async (context) =>
      job === undefined
        ? (await import('../cell/cell-status.ts')).cellStatus(context)
        : (await import('./status.ts')).status(context, job),
    ),
  );
  shownVerb(program, 'why <job>', 'why it does not run: every host, every check').action(
    (job: string, options: GlobalOptions) =>
      run(options, async (context) => (await import('./why.ts')).why(context, job)),
  );
  addTaskVerbs(program, { run, command });
  cellVerb(program, 'stop <jobs...>', 'stop jobs')
    .option('-w, --wait', 'return when nothing of them is placed any more', false)
    .option('--timeout <time>', 'with --wait: give up after this time')
    .action((jobs: string[], options: GlobalOptions & { wait: boolean; timeout?: string }) =>
      run(options, async (context) => (await import('./stop.ts')).stop(context, jobs, options)),
    );
  cellVerb(program, 'delete <jobs...>', 'stop jobs and forget them, with their versions and outcomes')
    .option('-w, --wait', 'return when they are gone', false)
    .option('--timeout <time>', 'with --wait: give up after this time')
    .action((jobs: string[], options: GlobalOptions & { wait: boolean; timeout?: string }) =>
      run(options, async (context) => (await import('./stop.ts')).deleteJobs(context, jobs, options)),
    );
  cellVerb(program, 'wait <job>', 'return when the job is in one of the phases')
    .option(
      '--for <phases>',
      'pending, running, complete, failed, stopped; several with commas',
      'complete,failed,stopped',
    )
    .option('--timeout <time>', 'give up after this time')
    .option('--absent-ok', 'wait for a job of exactly this name that is not there yet, too', false)
    .action((job: string, options: GlobalOptions & WaitOptions) =>
      run(options, async (context) => (await import('./wait.ts')).wait(context, job, options)),
    );
}
