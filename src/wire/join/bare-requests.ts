import { z } from 'zod';
import { TEXT_BYTES_MAX } from '../values/bounds.ts';
import { id, plainText, readBody } from '../api/api.ts';
import type { AdoptRequest, KeysRequest } from './bare-api.ts';

/** Roles on one machine. */
const HOLDERS_MAX = 16;
/** Two authorities, a certificate, and the arbiters' keys. */
const BUNDLE_CHARS_MAX = 16 * 1024;

const keysRequest: z.ZodType<KeysRequest> = z.strictObject({ holders: z.array(id).max(HOLDERS_MAX) });

const adoptRequest: z.ZodType<AdoptRequest> = z.strictObject({
  bundles: z
    .array(z.string().max(BUNDLE_CHARS_MAX))
    .min(1)
    .max(HOLDERS_MAX + 1),
  allow: z.array(id).max(HOLDERS_MAX),
  arbiterSecret: plainText(TEXT_BYTES_MAX).nullable(),
});

/** @throws ProblemError 400 with the place that is wrong */
export function readKeysRequest(body: unknown): KeysRequest {
  return readBody(keysRequest, body);
}

/** @throws ProblemError 400 with the place that is wrong */
export function readAdoptRequest(body: unknown): AdoptRequest {
  return readBody(adoptRequest, body);
}
