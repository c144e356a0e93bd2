import type { Job } from '../../src/core/cell/job.ts';
import { givenName } from '../../src/core/cell/ids.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT } from '../command/exit.ts';
import { withJob } from '../names/find-job.ts';
import { startRun } from './run-once.ts';

export interface RunAgainOptions {
  readonly name?: string;
  readonly detach: boolean;
  readonly stdin: boolean;
}

/** Runs an ended batch job once more: the same spec under a new id. */
export async function runAgain(context: Context, written: string, options: RunAgainOptions): Promise<number> {
  const { answer } = await withJob(context, written, (api, name) => api.status(name));
  const { summary, record } = answer;
  if (summary.type !== 'batch')
    throw new CliError(
      EXIT.usage,
      `${summary.name} is a ${summary.type} job, which does not end; --again is for what has ended`,
      `moorage run FILE`,
    );
  if (summary.phase === 'pending' || summary.phase === 'running')
    throw new CliError(
      EXIT.usage,
      `${summary.name} has not ended: it is ${summary.phase}`,
      `moorage wait ${summary.name}`,
    );
  const { job } = record;
  const isInput = options.stdin && !options.detach && context.terminal.inputGiven;
  const name = options.name ?? (job.oneOff ? givenName(job.name) : job.name);
  const again = renamed(job, name, isInput);
  const count = Object.values(again.groups).reduce((sum, group) => sum + group.count, 0);
  const { jobToFile } = await import('../../src/wire/job-file/job-file.ts');
  const order = { file: jobToFile(again), count };
  return startRun(context, order, options.detach, { stdin: isInput, terminal: false });
}

/** @param stdin whether there is input this time */
function renamed(job: Job, name: string, stdin: boolean): Job {
  const groups = Object.values(job.groups).map((group) => {
    const isShort = group.name === job.name;
    const tasks = Object.values(group.tasks).map(({ stdin: _stdin, terminal: _terminal, ...task }) => ({
      ...task,
      ...(stdin ? { stdin: true as const } : {}),
    }));
    return {
      ...group,
      name: isShort ? name : group.name,
      tasks: Object.fromEntries(tasks.map((task) => [task.name, task])),
    };
  });
  return { ...job, name, groups: Object.fromEntries(groups.map((group) => [group.name, group])) };
}
