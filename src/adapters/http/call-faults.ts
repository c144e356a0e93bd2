import { HttpError } from '../../ports/http.ts';
import { OTHER_SERVER } from '../pki/pki.ts';

/** An address without TLS, for a process that has credentials. */
const PLAIN = 'PLAIN';

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
  // The peer is none that may be called, or takes no certificate of ours.
  OTHER_SERVER,
  PLAIN,
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
  'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
  'ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED',
]);

/** Whether a url is not one of TLS: with credentials nothing is said in the clear. */
export function isPlain(url: string): boolean {
  return !url.startsWith('https://');
}

export function plainError(url: string): HttpError {
  const error = Object.assign(new Error('it speaks no TLS, and this process has credentials'), {
    code: PLAIN,
  });
  return httpErrorOf(error, url, false);
}

const CUT = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Whether the connection ended before the answer began. */
export function isCut(error: unknown): boolean {
  return CUT.has(codeOf(error) ?? '');
}

/** Codes that say less than their message. */
const WORDED = new Set([OTHER_SERVER, PLAIN, 'ERR_TLS_CERT_ALTNAME_INVALID']);

/**
 * The port's error for whatever a call failed with.
 *
 * @param sentAnyway true when the failure is known to have come after the answer began
 */
export function httpErrorOf(error: unknown, url: string, sentAnyway: boolean): HttpError {
  if (error instanceof HttpError) return error;
  const code = codeOf(error);
  const sent = sentAnyway || code === null || !NEVER_SENT.has(code);
  return new HttpError(`${originOf(url)}: ${code === null || WORDED.has(code) ? causeOf(error) : code}`, {
    sent,
    cause: error,
  });
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
