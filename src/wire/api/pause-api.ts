import { z } from 'zod';
import type { Pausable, Pause, PauseScope } from '../../core/quota/pauses.ts';
import { PAUSABLE } from '../../core/quota/pauses.ts';
import { whole } from '../codec/codec.ts';
import { TEXT_BYTES_MAX } from '../values/bounds.ts';
import { id, plainText, readBody } from './api.ts';
import { ProblemError } from './problem.ts';

/**
 * The monitor's API about what operators pause, in the whole cell or in a scope of it: `placement` (nothing new is placed),
 * `eviction` (nothing is preempted), `rollouts` (updates replace nothing) or `restarts` (hosts do not start again what ended).
 * What runs goes on in all of them.
 *
 *   GET    /v1/pauses         → PausesAnswer
 *   PUT    /v1/pauses/:what   PauseRequest → PausesAnswer
 *   DELETE /v1/pauses/:what?namespace=&job=&pool=&host=  → PausesAnswer, also when it was not paused
 */
export interface PausesAnswer {
  /** Those in force, the widest scopes first; of namespaces that the caller sees. */
  readonly pauses: readonly Pause[];
}

export interface PauseRequest extends PauseScope {
  readonly reason: string;
  /** It ends by itself after this time. */
  readonly forMs?: number;
}

const POOL_BYTES_MAX = 128;
/** A year. */
const FOR_MS_MAX = 365 * 24 * 3_600_000;

const scope = {
  ...{ namespace: z.exactOptional(id), job: z.exactOptional(id) },
  ...{ pool: z.exactOptional(plainText(POOL_BYTES_MAX).min(1)), host: z.exactOptional(id) },
};

export const pauseRequest: z.ZodType<PauseRequest> = z.strictObject({
  reason: plainText(TEXT_BYTES_MAX),
  forMs: z.exactOptional(whole.min(1).max(FOR_MS_MAX)),
  ...scope,
});

const scopeQuery: z.ZodType<PauseScope> = z.strictObject(scope);
const whatParam = z.strictObject({ what: z.enum(PAUSABLE) });

/** @throws ProblemError 400 with the place that is wrong */
export function readPause(body: unknown): PauseRequest {
  const request = readBody(pauseRequest, body);
  checkScope(request);
  return request;
}

/** @throws ProblemError 400 with the place that is wrong */
export function readPauseScope(query: unknown): PauseScope {
  const read = readBody(scopeQuery, query);
  checkScope(read);
  return read;
}

/** @throws ProblemError 400 */
export function readPausable(what: unknown): Pausable {
  return readBody(whatParam, { what }).what;
}

/** @throws ProblemError 400 */
function checkScope({ namespace, job, pool, host }: PauseScope): void {
  const named = [namespace, pool, host].filter((one) => one !== undefined).length;
  if (named <= 1 && (job === undefined || namespace !== undefined)) return;
  const detail =
    named > 1
      ? 'name a namespace, a pool or a host, not several of them'
      : 'a job is named with its namespace';
  throw new ProblemError({ status: 400, code: 'bad-request', detail, path: named > 1 ? '' : 'job' });
}
