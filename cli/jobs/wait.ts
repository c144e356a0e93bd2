import type { JobStatus } from '../../src/wire/api/monitor-api.ts';
import { JOB_PHASES } from '../../src/wire/api/monitor-api.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { Context } from '../command/context.ts';
import { EXIT, usageError } from '../command/exit.ts';
import { jobName } from '../names/names.ts';
import { readTimeout } from './timeout.ts';

const POLL_MS = 300;

/**
 * Until the job is in one of the phases. A job that is not there yet is waited for; one that has been through `running`
 * already and ended counts as having run.
 */
export async function wait(
  context: Context,
  written: string,
  options: { readonly for: string; readonly timeout?: string },
): Promise<number> {
  const { terminal } = context;
  const name = jobName(written, context.namespace);
  const wanted = phasesOf(options.for);
  const api = await context.api();
  const deadlineMs =
    options.timeout === undefined ? Infinity : terminal.nowMs() + readTimeout('wait', options.timeout);
  for (;;) {
    const status = await api.status(name).catch((error: unknown) => {
      if (error instanceof ProblemError && error.problem.status === 404) return null;
      throw error;
    });
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
