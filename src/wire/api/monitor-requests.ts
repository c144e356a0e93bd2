import { z } from 'zod';
import { TEXT_BYTES_MAX } from '../values/bounds.ts';
import type { EligibilityRequest } from './monitor-api.ts';
import { ProblemError } from './problem.ts';
import { unsafeText } from '../values/safe-string.ts';

/** A year: a drain that takes longer is a cordon. */
const DRAIN_MS_MAX = 365 * 24 * 3_600_000;

const reason = z
  .string()
  .refine((text) => unsafeText(text, TEXT_BYTES_MAX) === null, 'is not plain short text');

const eligibilityRequest: z.ZodType<EligibilityRequest> = z.strictObject({
  state: z.enum(['ready', 'cordoned', 'draining']),
  reason,
  deadlineMs: z.exactOptional(z.int().min(0).max(DRAIN_MS_MAX)),
});

/** @throws ProblemError 400 with the place that is wrong */
export function readEligibilityRequest(body: unknown): EligibilityRequest {
  const result = eligibilityRequest.safeParse(body);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const path = issue?.path.join('.') ?? '';
  const detail = `${path === '' ? 'the body' : path}: ${issue?.message ?? 'cannot be read'}`;
  throw new ProblemError({ status: 400, code: 'bad-request', detail, path });
}
