import { isPassing } from '../../src/clients/clients.ts';
import { HttpError } from '../../src/ports/http.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';

/** Did a call fail only since the cell is busy? Then it may be made again. */
export function isLate(error: unknown): boolean {
  return error instanceof HttpError || (error instanceof ProblemError && isPassing(error.problem.status));
}
