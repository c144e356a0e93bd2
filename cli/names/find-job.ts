import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import { isId } from '../../src/core/cell/ids.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { CliError, EXIT } from '../command/exit.ts';

/** Candidates that an error lists. */
const CANDIDATES_MAX = 8;

/**
 * Asks about the job of this name or, where there is none, of the only one whose name begins so.
 *
 * @throws CliError naming the candidates when there are several, or near names when there is none
 */
export async function withJob<T>(
  api: MonitorClient,
  name: JobRef,
  ask: (name: JobRef) => Promise<T>,
): Promise<{ readonly name: JobRef; readonly answer: T }> {
  let missing: ProblemError | null = null;
  if (isId(name.job))
    try {
      return { name, answer: await ask(name) };
    } catch (error) {
      if (!(error instanceof ProblemError) || error.problem.code !== 'no-such-job') throw error;
      missing = error;
    }
  const whole = { ...name, job: await wholeName(api, name, missing) };
  return { name: whole, answer: await ask(whole) };
}

async function wholeName(api: MonitorClient, { namespace, job }: JobRef, cause: unknown): Promise<string> {
  const { jobs } = await api.jobs(namespace);
  const names = jobs.map((one) => one.name);
  const matches = names.filter((name) => name.startsWith(job));
  const [only] = matches;
  if (only !== undefined && matches.length === 1) return only;
  const where = `in namespace "${namespace}"`;
  const what = matches.length > 1 ? severalOf(job, matches) : await noneOf(job, names, where);
  throw new CliError(EXIT.usage, what, `moorage ps -n ${namespace}`, cause);
}

function severalOf(job: string, matches: readonly string[]): string {
  const shown = matches.slice(0, CANDIDATES_MAX).join(', ');
  const more = matches.length > CANDIDATES_MAX ? `, and ${String(matches.length - CANDIDATES_MAX)} more` : '';
  return `"${job}" may be any of ${String(matches.length)} jobs: ${shown}${more}`;
}

async function noneOf(job: string, names: readonly string[], where: string): Promise<string> {
  const { didYouMean } = await import('../../src/wire/values/suggest.ts');
  return `there is no job "${job}" ${where}${didYouMean(job, names)}`;
}
