import { HttpError } from '../../ports/http.ts';

/** Failures that come before any byte of the request could have left. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_INVALID_ARG',
  'UND_ERR_CLOSED',
  'ERR_INVALID_URL',
  'ERR_INVALID_ARG_TYPE',
  'ERR_INVALID_PROTOCOL',
]);

/**
 * The port's error for whatever a call failed with.
 *
 * @param sentAnyway true when the failure is known to have come after the answer began
 */
export function httpErrorOf(error: unknown, url: string, sentAnyway: boolean): HttpError {
  if (error instanceof HttpError) return error;
  const code = codeOf(error);
  const sent = sentAnyway || code === null || !NEVER_SENT.has(code);
  return new HttpError(`${originOf(url)}: ${code ?? causeOf(error)}`, { sent, cause: error });
}

/** The code of the error, of its cause, or of the first of those it gathers (one per address tried). */
function codeOf(error: unknown, depth = 0): string | null {
  if (typeof error !== 'object' || error === null || depth > 3) return null;
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown };
  if (typeof code === 'string') return code;
  return codeOf(cause, depth + 1) ?? codeOf(Array.isArray(errors) ? errors[0] : null, depth + 1);
}

/** The message of the cause, where there is one. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** Without the path: ids and queries do not belong into messages for users. */
function originOf(url: string): string {
  return /^[a-z]+:\/\/[^/?#]+/.exec(url)?.[0] ?? 'call';
}
