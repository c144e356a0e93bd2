import type { Problem } from '../../src/wire/api/problem.ts';
import { CliError, EXIT } from './exit.ts';

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
  if (problem.status === 401)
    return 'moorage login, with a token; or --credentials FOLDER, with a certificate';
  if (problem.status === 404) return 'moorage ps';
  if (problem.status >= 500) return 'moorage hosts   (the cell may be starting, or its store may be down)';
  return 'moorage help';
}
