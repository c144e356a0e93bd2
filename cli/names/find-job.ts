import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import { givenName, isId, isRunNamed } from '../../src/core/cell/ids.ts';
import type { JobSummary } from '../../src/wire/api/monitor-api.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT } from '../command/exit.ts';
import { jobName } from './names.ts';

/** Candidates that an error lists. */
const CANDIDATES_MAX = 8;

/** What was asked about the job that a typed name means. */
export interface Found<T> {
  readonly name: JobRef;
  readonly answer: T;
}

/** No job has the name, or several begin with it. */
export class UnknownNameError extends CliError {}

/**
 * Asks about the job that is meant: the one of this name; else the one-off run that was given it; else the only one whose
 * name begins so. A choice is told on standard error.
 *
 * @throws UnknownNameError naming the candidates when there are several, or near names when there is none
 */
export async function withJob<T>(
  context: Context,
  written: string,
  ask: (api: MonitorClient, name: JobRef) => Promise<T>,
): Promise<Found<T>> {
  const api = await context.api();
  const name = jobName(written, context.namespace);
  if (isId(name.job))
    try {
      return { name, answer: await ask(api, name) };
    } catch (error) {
      if (!isNoSuchJob(error)) throw error;
    }
  const whole = { ...name, job: await wholeName(api, name) };
  context.terminal.err(`moorage: "${written}" is ${whole.job}\n`);
  return { name: whole, answer: await ask(api, whole) };
}

export function isNoSuchJob(error: unknown): boolean {
  return error instanceof ProblemError && error.problem.code === 'no-such-job';
}

async function wholeName(api: MonitorClient, { namespace, job }: JobRef): Promise<string> {
  const { jobs } = await api.jobs(namespace);
  const meant = meantBy(job, jobs);
  const [only] = meant;
  if (only !== undefined && meant.length === 1) return only;
  const what = meant.length > 1 ? severalOf(job, meant) : await noneOf(job, namespace, jobs);
  throw new UnknownNameError(EXIT.usage, what, `moorage ps -n ${namespace}`);
}

function meantBy(job: string, jobs: readonly JobSummary[]): readonly string[] {
  const runs = jobs.filter((one) => one.oneOff && isRunNamed(one.name, job));
  const found = runs.length > 0 ? runs : jobs.filter((one) => one.name.startsWith(job));
  return found.map((one) => one.name);
}

function severalOf(job: string, matches: readonly string[]): string {
  const shown = matches.slice(0, CANDIDATES_MAX).join(', ');
  const more = matches.length > CANDIDATES_MAX ? `, and ${String(matches.length - CANDIDATES_MAX)} more` : '';
  return `"${job}" may be any of ${String(matches.length)} jobs: ${shown}${more}`;
}

async function noneOf(job: string, namespace: string, jobs: readonly JobSummary[]): Promise<string> {
  const { didYouMean } = await import('../../src/wire/values/suggest.ts');
  // A run is remembered by the name that it was given, without the id behind it.
  const names = jobs.flatMap(({ name, oneOff }) => (oneOff ? [name, givenName(name)] : [name]));
  return `there is no job "${job}" in namespace "${namespace}"${didYouMean(job, names)}`;
}
