import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import type { SubmitAnswer } from '../../src/wire/api/monitor-api.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { followJob } from '../jobs/run-file.ts';
import { readTimeout } from '../jobs/timeout.ts';
import { withJob } from '../names/find-job.ts';
import { printAnswer } from '../output/output.ts';

export interface FollowOptions {
  readonly detach: boolean;
  readonly timeout?: string;
}

export function undo(
  context: Context,
  job: string,
  options: FollowOptions & { readonly to?: number },
): Promise<number> {
  const request = options.to === undefined ? {} : { version: options.to };
  return renew(context, job, options, (api, name) => api.undo(name, request));
}

export function scale(
  context: Context,
  job: string,
  count: number,
  options: FollowOptions & { readonly group?: string },
): Promise<number> {
  const group = options.group === undefined ? {} : { group: options.group };
  return renew(context, job, options, (api, name) => api.scale(name, { ...group, count }));
}

export function restart(context: Context, job: string, options: FollowOptions): Promise<number> {
  return renew(context, job, options, (api, name) => api.restart(name));
}

/** Makes a new version, and follows it as `run` does. */
async function renew(
  context: Context,
  written: string,
  options: FollowOptions,
  make: (api: MonitorClient, name: JobRef) => Promise<SubmitAnswer>,
): Promise<number> {
  const timeoutMs = options.timeout === undefined ? null : readTimeout('run', options.timeout);
  const { answer } = await withJob(context, written, make);
  const { namespace, name: job, version, changed } = answer;
  const said = changed ? `is version ${String(version)} now` : 'is that already, nothing changed';
  await printAnswer(context, answer, { name: job, text: () => `${job} ${said}\n` });
  if (options.detach) return EXIT.ok;
  return followJob(context, await context.api(), { namespace, job }, { timeoutMs, logs: false, version });
}
