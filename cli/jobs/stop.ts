import type { JobRef } from '../../src/clients/monitor-paths.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { withJob } from '../names/find-job.ts';
import { jobName } from '../names/names.ts';
import { printAnswer } from '../output/output.ts';
import { readTimeout } from './timeout.ts';

const POLL_MS = 300;

/** Stops jobs; with `wait` it returns when none of their allocations is placed any more. */
export async function stop(
  context: Context,
  jobs: readonly string[],
  options: { readonly wait: boolean; readonly timeout?: string },
): Promise<number> {
  const { terminal } = context;
  const api = await context.api();
  const names = jobs.map((job) => jobName(job, context.namespace));
  const stopping: JobRef[] = [];
  for (const written of names) {
    const { name, answer } = await withJob(api, written, (job) => api.stop(job));
    stopping.push(name);
    await printAnswer(context, answer, { name: name.job, text: () => `${name.job} is told to stop\n` });
  }
  if (!options.wait) return EXIT.ok;
  const deadlineMs =
    options.timeout === undefined ? Infinity : terminal.nowMs() + readTimeout('stop', options.timeout);
  for (const name of stopping) {
    for (;;) {
      const status = await api.status(name);
      if (status.allocations.length === 0) break;
      if (terminal.nowMs() > deadlineMs || context.interrupted.aborted) {
        terminal.err(`moorage: ${name.job} has not stopped yet\nnext: moorage status ${name.job}\n`);
        return EXIT.workloadFailed;
      }
      await terminal.sleep(POLL_MS, context.interrupted);
    }
  }
  return EXIT.ok;
}
