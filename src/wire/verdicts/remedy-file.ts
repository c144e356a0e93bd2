import { ProblemError } from '../api/problem.ts';
import { readValue } from '../job-file/yaml-source.ts';
import { readDuration } from '../values/units.ts';
import type { RemedyPolicyRequest } from './verdict-records.ts';
import { readRemedyPolicy } from './verdicts.ts';

/** The fields of a file that have a unit, and those of the API that they become. */
const TIMES = { quarantine: 'quarantineMs', restartEvery: 'restartEveryMs' } as const;

/**
 * What is done about verdicts, as an operator writes it in YAML or JSON:
 *
 *   revision: [slow-restarts, stop-rollout, revert]
 *   host: [quarantine]
 *   domain: [stop-placement]
 *   share: 20%            # of the hosts of each pool
 *   perHourMax: 30        # remedies of the whole cell
 *   quarantine: 30m
 *   restartEvery: 5m
 *   jobs:
 *     team-a/web: []      # tell only
 *
 * @throws ProblemError 400 with the place that is wrong
 */
export function parseRemedyFile(text: string): RemedyPolicyRequest {
  const value = readValue(text);
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw wrong('', 'it has no fields');
  const fields = Object.entries(value as Readonly<Record<string, unknown>>).map(([name, written]) =>
    fieldOf(name, written),
  );
  return readRemedyPolicy(Object.fromEntries(fields));
}

function fieldOf(name: string, written: unknown): readonly [string, unknown] {
  if (name === 'share') {
    const percent = /^(\d{1,3})%?$/.exec(String(written))?.[1];
    if (percent === undefined) throw wrong(name, 'write a share such as 20%');
    return ['sharePercent', Number(percent)];
  }
  if (name !== 'quarantine' && name !== 'restartEvery') return [name, written];
  const reading = readDuration(String(written));
  if (!reading.ok) throw wrong(name, reading.text);
  return [TIMES[name], reading.value];
}

function wrong(path: string, text: string): ProblemError {
  return new ProblemError({
    status: 400,
    code: 'bad-request',
    detail: path === '' ? text : `${path}: ${text}`,
    path,
  });
}
