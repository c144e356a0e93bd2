import type { Problem } from '../src/wire/api/problem.ts';
import { ProblemError } from '../src/wire/api/problem.ts';

export function refuse(
  status: number,
  code: string,
  detail: string,
  more: Partial<Problem> = {},
): ProblemError {
  return new ProblemError({ ...more, status, code, detail });
}

export function noSuchJob(jobKey: string): ProblemError {
  return refuse(404, 'no-such-job', `there is no job ${jobKey}`, { hint: 'moorage ps' });
}

export function noSuchHost(host: string): ProblemError {
  return refuse(404, 'no-such-host', `there is no host ${host}`, { hint: 'moorage hosts' });
}

/** The outcome of a write is not known yet, and could not be found out in time. */
export function outcomeUnknown(hint: string): ProblemError {
  return refuse(503, 'outcome-unknown', 'the store did not say whether this was done', { hint });
}
