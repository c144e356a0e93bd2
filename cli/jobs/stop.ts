import type { JobRef } from '../../src/clients/monitor-paths.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { withJob } from '../names/find-job.ts';
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
  const stopping: JobRef[] = [];
  // A name that means nothing is an error before anything is stopped.
  for (const written of jobs) {
    const { name } = await withJob(context, written, (asked, job) => asked.status(job));
    stopping.push(name);
  }
  const api = await context.api();
  for (const name of stopping) {
    const answer = await api.stop(name);
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
