import { z } from 'zod';
import { whole } from '../codec/codec.ts';
import { TEXT_BYTES_MAX } from '../values/bounds.ts';
import { plainText, readBody } from './api.ts';
import type { EligibilityRequest } from './monitor-api.ts';

/** A year: a drain that takes longer is a cordon. */
const DRAIN_MS_MAX = 365 * 24 * 3_600_000;

const eligibilityRequest: z.ZodType<EligibilityRequest> = z.strictObject({
  state: z.enum(['ready', 'cordoned', 'draining', 'lost']),
  reason: plainText(TEXT_BYTES_MAX),
  deadlineMs: z.exactOptional(whole.max(DRAIN_MS_MAX)),
});

/** @throws ProblemError 400 with the place that is wrong */
export function readEligibilityRequest(body: unknown): EligibilityRequest {
  return readBody(eligibilityRequest, body);
}

/** Why somebody does something, from the query. @throws ProblemError 400 */
export function readReason(text: unknown): string {
  return readBody(plainText(TEXT_BYTES_MAX), text);
}
