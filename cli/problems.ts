import { ProblemError } from '../src/wire/problem.ts';
import type { Problem } from '../src/wire/problem.ts';
import type { CellApi } from './cell-api.ts';
import { CliError, EXIT } from './exit.ts';
import type { JobName } from './job-name.ts';

/** An answer with an error, in the words and with the exit code of the command line. */
export function cliErrorOf(problem: Problem): CliError {
  const place = problem.path === undefined || problem.path === '' ? '' : `${problem.path}: `;
  return new CliError(exitCodeOf(problem), place + problem.detail, problem.hint ?? hintOf(problem));
}

function exitCodeOf(problem: Problem): number {
  if (problem.status === 409 || problem.status === 412) return EXIT.versionConflict;
  if (problem.status === 400 || problem.status === 422 || problem.status === 413) return EXIT.badSpec;
  if (problem.status === 404) return EXIT.usage;
  return EXIT.unreachable;
}

function hintOf(problem: Problem): string {
  if (problem.status === 404) return 'moorage ps';
  if (problem.status >= 500) return 'moorage hosts   (the cell may be starting, or its store may be down)';
  return 'moorage help';
}

/** Turns "no such job" into one with the nearest names; anything else is thrown as it is. */
export async function explainMissing(api: CellApi, name: JobName, error: unknown): Promise<never> {
  if (!(error instanceof ProblemError) || error.problem.status !== 404) throw error;
  const { jobs } = await api.get<{ jobs: readonly { name: string }[] }>(
    `/v1/jobs?namespace=${name.namespace}`,
  );
  const { didYouMean } = await import('../src/wire/suggest.ts');
  const meant = didYouMean(
    name.job,
    jobs.map((job) => job.name),
  );
  const where = `in namespace "${name.namespace}"`;
  throw new CliError(
    EXIT.usage,
    `there is no job "${name.job}" ${where}${meant}`,
    `moorage ps -n ${name.namespace}`,
    error,
  );
}
