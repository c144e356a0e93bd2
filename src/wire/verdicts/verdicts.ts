/**
 * What crosses edges of who is at fault: the records are in `verdict-records.ts`, an operator's file in
 * `remedy-file.ts`, the monitor's API here.
 *
 *   GET    /v1/verdicts                → VerdictsAnswer
 *   DELETE /v1/verdicts?suspect=       → VerdictsAnswer: it ends, its remedies are undone, and it is not at fault again for an hour
 *   GET    /v1/remedies                → RemedyPolicy
 *   PUT    /v1/remedies                RemedyPolicy, in which all may be left out → RemedyPolicy
 */
import { z } from 'zod';
import type { RemedyPolicy } from '../../core/detector/remedies.ts';
import type { Verdict } from '../../core/detector/verdict.ts';
import { DEFAULT_REMEDIES, REMEDIES_OF } from '../../core/detector/remedies.ts';
import { plainText, readBody } from '../api/api.ts';
import { ProblemError } from '../api/problem.ts';
import { remedyPolicyRequest } from './verdict-records.ts';

export interface VerdictsAnswer {
  /** Those in force first, then those that ended within a day; of jobs that the caller sees. */
  readonly verdicts: readonly Verdict[];
}

const SUSPECT_BYTES_MAX = 512;
const suspectQuery = z.object({ suspect: plainText(SUSPECT_BYTES_MAX).min(1) });

/** @throws ProblemError 400 */
export function readSuspect(query: unknown): string {
  return readBody(suspectQuery, query).suspect;
}

/** @throws ProblemError 400 with the place that is wrong */
export function readRemedyPolicy(body: unknown): RemedyPolicy {
  const policy = { ...DEFAULT_REMEDIES, ...readBody(remedyPolicyRequest, body) };
  const lists = [
    ['revision', 'revision', policy.revision],
    ['host', 'host', policy.host],
    ['domain', 'domain', policy.domain],
    ...Object.entries(policy.jobs).map(([job, list]) => ['revision', `jobs.${job}`, list] as const),
  ] as const;
  for (const [kind, path, list] of lists) {
    const wrong = list.find((remedy) => !REMEDIES_OF[kind].includes(remedy));
    if (wrong === undefined) continue;
    const detail = `${wrong} is no remedy for a ${kind}: ${REMEDIES_OF[kind].join(', ')}`;
    throw new ProblemError({ status: 400, code: 'bad-request', detail, path });
  }
  return policy;
}
