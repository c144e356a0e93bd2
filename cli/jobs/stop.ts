import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import type { JobSummary } from '../../src/wire/api/monitor-api.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { isNoSuchJob, withJob } from '../names/find-job.ts';
import { printAnswer } from '../output/output.ts';
import { readTimeout } from './timeout.ts';

type WaitOptions = { readonly wait: boolean; readonly timeout?: string };

/** What `stop` and `delete` tell each job, and when that has come about. */
interface Ending {
  readonly verb: string;
  readonly tell: (api: MonitorClient, job: JobRef) => Promise<JobSummary>;
  readonly said: (job: string) => string;
  readonly hasCome: (api: MonitorClient, job: JobRef) => Promise<boolean>;
  readonly notYet: string;
}

const POLL_MS = 300;

/** Stops jobs; with `wait` it returns when none of their allocations is placed any more. */
export function stop(context: Context, jobs: readonly string[], options: WaitOptions): Promise<number> {
  return end(context, jobs, options, {
    verb: 'stop',
    tell: (api, job) => api.stop(job),
    said: (job) => `${job} is told to stop`,
    hasCome: async (api, job) => (await api.status(job)).allocations.length === 0,
    notYet: 'has not stopped yet',
  });
}

/** Deletes jobs: stops them, and then has their records deleted; with `wait` it returns when they are gone. */
export function deleteJobs(context: Context, jobs: readonly string[], options: WaitOptions): Promise<number> {
  return end(context, jobs, options, {
    verb: 'delete',
    tell: (api, job) => api.delete(job),
    said: (job) => `${job} is deleted when nothing of it is placed any more`,
    hasCome: isGone,
    notYet: 'is not deleted yet',
  });
}

async function end(
  context: Context,
  jobs: readonly string[],
  options: WaitOptions,
  { verb, tell, said, hasCome, notYet }: Ending,
): Promise<number> {
  const { terminal, interrupted } = context;
  const ending: JobRef[] = [];
  // A name that means nothing is an error before anything is stopped.
  for (const written of jobs) {
    const { name } = await withJob(context, written, (asked, job) => asked.status(job));
    ending.push(name);
  }
  const api = await context.api();
  for (const name of ending)
    await printAnswer(context, await tell(api, name), { name: name.job, text: () => `${said(name.job)}\n` });
  if (!options.wait) return EXIT.ok;
  const deadlineMs =
    options.timeout === undefined ? Infinity : terminal.nowMs() + readTimeout(verb, options.timeout);
  for (const name of ending)
    while (!(await hasCome(api, name))) {
      if (terminal.nowMs() > deadlineMs || interrupted.aborted) {
        terminal.err(`moorage: ${name.job} ${notYet}\nnext: moorage status ${name.job}\n`);
        return EXIT.workloadFailed;
      }
      await terminal.sleep(POLL_MS, interrupted);
    }
  return EXIT.ok;
}

async function isGone(api: MonitorClient, job: JobRef): Promise<boolean> {
  try {
    await api.status(job);
    return false;
  } catch (error) {
    if (isNoSuchJob(error)) return true;
    throw error;
  }
}
