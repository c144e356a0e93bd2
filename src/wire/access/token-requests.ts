import { z } from 'zod';
import { TOKEN_NAMESPACES_MAX, TOKEN_TTL_MAX_MS } from '../../core/access/token.ts';
import { SEALED_CHARS_MAX } from '../../core/access/secret.ts';
import { SCOPES } from '../../core/access/person.ts';
import { whole } from '../codec/codec.ts';
import { TEXT_BYTES_MAX } from '../values/bounds.ts';
import { id, plainText, readBody } from '../api/api.ts';
import type { SecretRequest } from './secret-api.ts';
import type { TokenRequest } from './token-api.ts';

export const tokenRequest: z.ZodType<TokenRequest> = z.strictObject({
  name: plainText(TEXT_BYTES_MAX).min(1),
  scope: z.enum(SCOPES),
  namespaces: z.array(id).min(1).max(TOKEN_NAMESPACES_MAX).nullable(),
  ttlMs: whole.min(1).max(TOKEN_TTL_MAX_MS),
});

export const secretRequest: z.ZodType<SecretRequest> = z.strictObject({
  sealed: plainText(SEALED_CHARS_MAX).regex(/^moorage-sealed-1\.[\w-]+\.[\w-]+$/),
});

/** @throws ProblemError 400 with the place that is wrong */
export function readSecretRequest(body: unknown): SecretRequest {
  return readBody(secretRequest, body);
}

/** @throws ProblemError 400 with the place that is wrong */
export function readTokenRequest(body: unknown): TokenRequest {
  return readBody(tokenRequest, body);
}
