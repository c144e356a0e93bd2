import { z } from 'zod';
import { isIssuer, ISSUER_CHARS_MAX, PROVIDER_AUTHORITIES_CHARS_MAX } from '../../core/access/openid.ts';
import { plainText, readBody } from '../api/api.ts';
import { TEXT_BYTES_MAX } from '../values/bounds.ts';
import type { OpenIdRequest } from './openid-api.ts';

const claim = plainText(TEXT_BYTES_MAX).min(1);

export const openIdRequest: z.ZodType<OpenIdRequest> = z.strictObject({
  issuer: z.string().refine(isIssuer, {
    error: `must be https://…, or http:// on this machine, at most ${String(ISSUER_CHARS_MAX)} characters, without a query`,
  }),
  audience: plainText(TEXT_BYTES_MAX).min(1),
  namespacesClaim: claim,
  scopeClaim: z.exactOptional(claim),
  authorities: z.exactOptional(
    z
      .string()
      .max(PROVIDER_AUTHORITIES_CHARS_MAX)
      .regex(/^-----BEGIN CERTIFICATE-----\n/),
  ),
});

/** @throws ProblemError 400 with the place that is wrong */
export function readOpenIdRequest(body: unknown): OpenIdRequest {
  return readBody(openIdRequest, body);
}
