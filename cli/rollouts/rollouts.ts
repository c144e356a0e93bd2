/**
 * Verbs about the versions of a job and its updates:
 *
 * - `steer.ts`: how far an update is; pauses, resumes and promotes it
 * - `renew.ts`: makes a new version of an old one, of another count, or of the same to restart it; follows it like `run`
 * - `history.ts`: the versions that are kept; `diff.ts`: how a job file differs from what is there
 * - `moves.ts`: moves one allocation, or those that would be better on other hosts
 * - `plan.ts`: what a submission, or a change of hosts, would start, stop, move and preempt; `plan-text.ts` words it
 */
import type { Command } from 'commander';
import type { GlobalOptions } from '../command/context.ts';
import type { ProgramInput, Runner } from '../command/command.ts';
import { cellVerb, wholeNumber } from '../command/command.ts';
import { usageError } from '../command/exit.ts';
import { MOVES_MAX, PLAN_HOSTS_MAX } from '../../src/wire/values/bounds.ts';
import type { MoveOptions } from './moves.ts';
import type { FollowOptions } from './renew.ts';

/** As in a job file. */
const COUNT_MAX = 100_000;
/** Versions count submissions of one job. */
const VERSION_MAX = 999_999_999;

type Renewing = GlobalOptions & FollowOptions;

export function addRolloutVerbs(program: Command, { run }: ProgramInput): void {
  const rollout = program
    .command('rollout')
    .description('how far an update of a job is, and what to do with it');
  cellVerb(rollout, 'status <job>', 'how far it is, and what it waits for').action(
    (job: string, options: GlobalOptions) =>
      run(options, async (context) => (await import('./steer.ts')).rolloutStatus(context, job)),
  );
  for (const [act, description] of [
    ['pause', 'replace nothing more until it is resumed'],
    ['resume', 'go on with a paused update'],
    ['promote', 'the canaries will do: replace the rest'],
  ] as const)
    cellVerb(rollout, `${act} <job>`, description).action((job: string, options: GlobalOptions) =>
      run(options, async (context) => (await import('./steer.ts')).steer(context, job, act)),
    );
  renewing(cellVerb(rollout, 'undo <job>', 'back to the last good version, or the one before'))
    .option('--to <version>', 'this version', wholeNumber(1, VERSION_MAX))
    .action((job: string, options: Renewing & { to?: number }) =>
      run(options, async (context) => (await import('./renew.ts')).undo(context, job, options)),
    );
  cellVerb(program, 'history <job>', 'the versions of a job that are kept').action(
    (job: string, options: GlobalOptions) =>
      run(options, async (context) => (await import('./history.ts')).history(context, job)),
  );
  cellVerb(program, 'diff <file>', 'how a job file differs from the job that is there; 1 when it does')
    .option('--version <n>', 'from this version', wholeNumber(1, VERSION_MAX))
    .action((file: string, options: GlobalOptions & { version?: number }) =>
      run(options, async (context) =>
        (await import('./diff.ts')).diff(context, file, options.version ?? null),
      ),
    );
  cellVerb(
    program,
    'plan <file>',
    'what a submission would start, stop, move and preempt; 1 when anything',
  ).action((file: string, options: GlobalOptions) =>
    run(options, async (context) => (await import('./plan.ts')).planFile(context, file)),
  );
  addWhatIfVerbs(program, run);
  addMoveVerbs(program, run);
  renewing(cellVerb(program, 'scale <job> <count>', 'another number of allocations; restarts none'))
    .option('--group <name>', 'of a job with several groups')
    .action((job: string, count: string, options: Renewing & { group?: string }) =>
      run(options, async (context) => {
        const wanted = Number(count);
        if (!/^\d{1,6}$/.test(count) || wanted < 1 || wanted > COUNT_MAX)
          throw usageError(
            `${count} is no count: a whole number from 1 to ${String(COUNT_MAX)}`,
            `moorage scale ${job} 3`,
          );
        return (await import('./renew.ts')).scale(context, job, wanted, options);
      }),
    );
  renewing(cellVerb(program, 'restart <job>', 'restart a service, one allocation after the other')).action(
    (job: string, options: Renewing) =>
      run(options, async (context) => (await import('./renew.ts')).restart(context, job, options)),
  );
}

type Moving = GlobalOptions & MoveOptions;

function addMoveVerbs(program: Command, run: Runner): void {
  const moving = (verb: Command): Command =>
    renewing(verb).option('--reason <text>', 'told to whoever asks why', '');
  moving(
    cellVerb(program, 'move <allocation>', 'run one allocation of a service on another host, such as web[1]'),
  )
    .option('--to <host>', 'on this one (default: its scheduler chooses)')
    .action((allocation: string, options: Moving & { to?: string }) =>
      run(options, async (context) => (await import('./moves.ts')).moveOne(context, allocation, options)),
    );
  moving(cellVerb(program, 'rebalance', 'move what would be better on other hosts, in turn'))
    .requiredOption('--budget <n>', 'so many moves at most', wholeNumber(1, MOVES_MAX))
    .option('--dry-run', 'only say what would move and why; 1 when anything', false)
    .action((options: Moving & { budget: number; dryRun: boolean }) =>
      run(options, async (context) => (await import('./moves.ts')).rebalance(context, options)),
    );
}

function addWhatIfVerbs(program: Command, run: Runner): void {
  const whatIf = program
    .command('whatif')
    .description('which jobs would move, wait or be preempted; changes nothing');
  cellVerb(whatIf, 'host-lost <host...>', 'if these hosts were lost').action(
    (hosts: string[], options: GlobalOptions) =>
      run(options, async (context) => (await import('./plan.ts')).whatIf(context, { hostsLost: hosts })),
  );
  cellVerb(whatIf, 'add-hosts <n>', 'if there were so many hosts more')
    .requiredOption('--like <host>', 'of the size and the attributes of this one')
    .action((count: string, options: GlobalOptions & { like: string }) =>
      run(options, async (context) => {
        const hostsAdded = { count: hostsIn(count), like: options.like };
        return (await import('./plan.ts')).whatIf(context, { hostsAdded });
      }),
    );
  cellVerb(whatIf, 'submit <file>', 'if this job file were submitted').action(
    (file: string, options: GlobalOptions) =>
      run(options, async (context) => (await import('./plan.ts')).whatIfSubmitted(context, file)),
  );
}

function hostsIn(text: string): number {
  const count = Number(text);
  if (/^\d{1,6}$/.test(text) && count >= 1 && count <= PLAN_HOSTS_MAX) return count;
  throw usageError(
    `${text} is no number of hosts: a whole number from 1 to ${String(PLAN_HOSTS_MAX)}`,
    'moorage whatif add-hosts 2 --like host-1',
  );
}

function renewing(verb: Command): Command {
  return verb
    .option('-d, --detach', 'return at once', false)
    .option('--timeout <time>', 'give up following after this time');
}
