import type { JobRef } from '../../src/clients/monitor-paths.ts';
import type { JobStatus } from '../../src/wire/api/monitor-api.ts';
import { JOB_PHASES } from '../../src/wire/api/monitor-api.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT, usageError } from '../command/exit.ts';
import { isNoSuchJob, withJob } from '../names/find-job.ts';
import { jobName } from '../names/names.ts';
import { readTimeout } from './timeout.ts';

const POLL_MS = 300;

export interface WaitOptions {
  readonly for: string;
  readonly timeout?: string;
  /** A job of exactly this name that is not there yet is waited for too. */
  readonly absentOk: boolean;
}

/** Until the job is in one of the phases. One that has been through `running` already and ended counts as having run. */
export async function wait(context: Context, written: string, options: WaitOptions): Promise<number> {
  const { terminal } = context;
  const wanted = phasesOf(options.for);
  const deadlineMs =
    options.timeout === undefined ? Infinity : terminal.nowMs() + readTimeout('wait', options.timeout);
  const name = await nameOf(context, written, options.absentOk);
  const api = await context.api();
  for (;;) {
    const status = await orAbsent(api.status(name));
    if (status === null && !options.absentOk)
      throw new CliError(EXIT.usage, `the job "${name.job}" was removed`, 'moorage ps');
    const phase = status === null ? null : reached(status, wanted);
    if (phase !== null) {
      terminal.out(`${phase}\n`);
      return EXIT.ok;
    }
    if (context.interrupted.aborted) return EXIT.signalBase + 2;
    if (terminal.nowMs() > deadlineMs) {
      const now = status === null ? 'not there' : status.summary.phase;
      terminal.err(
        `moorage: ${name.job} is ${now}, not ${wanted.join(' or ')}\nnext: moorage why ${name.job}\n`,
      );
      return EXIT.unplaceable;
    }
    await terminal.sleep(POLL_MS, context.interrupted);
  }
}

async function nameOf(context: Context, written: string, absentOk: boolean): Promise<JobRef> {
  if (!absentOk) return (await withJob(context, written, (api, name) => api.status(name))).name;
  const name = jobName(written, context.namespace);
  if ((await orAbsent((await context.api()).status(name))) === null)
    context.terminal.err(`moorage: there is no job "${name.job}" yet; waiting for it\n`);
  return name;
}

async function orAbsent(asked: Promise<JobStatus>): Promise<JobStatus | null> {
  return asked.catch((error: unknown) => {
    if (isNoSuchJob(error)) return null;
    throw error;
  });
}

function phasesOf(text: string): string[] {
  const wanted = text.split(',').map((part) => part.trim());
  const unknown = wanted.find((phase) => !JOB_PHASES.some((known) => known === phase));
  if (unknown === undefined) return wanted;
  throw usageError(`--for ${unknown}: expected any of ${JOB_PHASES.join(', ')}`, 'moorage wait --help');
}

function reached({ summary }: JobStatus, wanted: readonly string[]): string | null {
  const { phase, counts } = summary;
  if (phase === 'running' && counts.running < counts.desired && summary.type !== 'batch') return null;
  if (wanted.includes(phase)) return phase;
  const ended = phase === 'complete' || phase === 'failed';
  return wanted.includes('running') && ended ? phase : null;
}
