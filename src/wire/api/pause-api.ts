import { z } from 'zod';
import type { Pausable, Pause } from '../../core/quota/quota.ts';
import { PAUSABLE } from '../../core/quota/quota.ts';
import { whole } from '../codec/codec.ts';
import { TEXT_BYTES_MAX } from '../values/bounds.ts';
import { plainText, readBody } from './api.ts';

/**
 * The monitor's API about what operators pause in the whole cell: `placement` (nothing new is placed) or `eviction` (nothing is
 * preempted). What runs goes on in both.
 *
 *   GET    /v1/pauses         → PausesAnswer
 *   PUT    /v1/pauses/:what   PauseRequest → PausesAnswer
 *   DELETE /v1/pauses/:what   → PausesAnswer, also when it was not paused
 */
export interface PausesAnswer {
  /** What is paused; an operator of an older version did not say why. */
  readonly pauses: Readonly<Partial<Record<Pausable, Pause | null>>>;
}

export interface PauseRequest {
  readonly reason: string;
  /** It ends by itself after this time. */
  readonly forMs?: number;
}

/** A year. */
const FOR_MS_MAX = 365 * 24 * 3_600_000;

export const pauseRequest: z.ZodType<PauseRequest> = z.strictObject({
  reason: plainText(TEXT_BYTES_MAX),
  forMs: z.exactOptional(whole.min(1).max(FOR_MS_MAX)),
});

const whatParam = z.strictObject({ what: z.enum(PAUSABLE) });

/** @throws ProblemError 400 with the place that is wrong */
export function readPause(body: unknown): PauseRequest {
  return readBody(pauseRequest, body);
}

/** @throws ProblemError 400 */
export function readPausable(what: unknown): Pausable {
  return readBody(whatParam, { what }).what;
}
