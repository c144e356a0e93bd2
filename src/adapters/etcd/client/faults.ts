import { errorText } from '../../../core/errors/errors.ts';
import type { StoreErrorCode } from '../../../ports/cell-store.ts';
import { StoreError } from '../../../ports/cell-store.ts';

interface Meaning {
  readonly code: StoreErrorCode;
  readonly retryable: boolean;
  /** Of a write: the server refused it before doing anything, or it never left this process. */
  readonly surelyNotApplied: boolean;
}

/**
 * What the texts of etcd and gRPC mean. `etcd3` keeps the text of an error but not its number. Everything that is not
 * listed is an outage, after which a write may have been applied.
 */
const MEANINGS: readonly (readonly [RegExp, Meaning])[] = [
  [/database space exceeded/, { code: 'no-space', retryable: true, surelyNotApplied: true }],
  [
    /too many operations in txn|request is too large/,
    { code: 'too-large', retryable: false, surelyNotApplied: true },
  ],
  [/required revision has been compacted/, { code: 'compacted', retryable: false, surelyNotApplied: true }],
  [/requested lease not found/, { code: 'closed', retryable: false, surelyNotApplied: true }],
  [
    /permission denied|invalid auth token|authentication failed|user name is empty/,
    { code: 'denied', retryable: false, surelyNotApplied: true },
  ],
  // Users or their rights were changed between the server's check of them and its work.
  [
    /revision in header is old|revision of auth store is old/,
    { code: 'unavailable', retryable: true, surelyNotApplied: true },
  ],
  [/client was already closed/, { code: 'closed', retryable: false, surelyNotApplied: true }],
  [/too many requests/, { code: 'unavailable', retryable: true, surelyNotApplied: true }],
  // From gRPC's picker, before the call reaches any connection.
  [/No connection established/, { code: 'unavailable', retryable: true, surelyNotApplied: true }],
  // HTTP/2's REFUSED_STREAM: the connection was closed before the server took the call (RFC 9113, 8.7).
  [/Stream refused by server/, { code: 'unavailable', retryable: true, surelyNotApplied: true }],
  [/DEADLINE_EXCEEDED|[Dd]eadline exceeded/, { code: 'timeout', retryable: true, surelyNotApplied: false }],
];

const OUTAGE: Meaning = { code: 'unavailable', retryable: true, surelyNotApplied: false };

/** A fault of a read, or of a write that surely was not applied. */
export function storeErrorOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const { code, retryable } = meaningOf(error);
  return new StoreError(code, plainText(errorText(error)), { retryable, cause: error });
}

/** Whether a write with this fault may have been applied. */
export function mayBeApplied(error: unknown): boolean {
  if (error instanceof StoreError) return false;
  return !meaningOf(error).surelyNotApplied;
}

/** The connection ended before the call was answered. A new one may do. */
export function isDroppedConnection(error: unknown): boolean {
  return errorText(error).includes('Connection dropped');
}

function meaningOf(error: unknown): Meaning {
  const text = errorText(error);
  return MEANINGS.find(([pattern]) => pattern.test(text))?.[1] ?? OUTAGE;
}

/** Without the notes that gRPC appends, which are mostly empty; the whole text stays in the cause. */
function plainText(text: string): string {
  return text.replace(/\.?\s*Resolution note:.*$/s, '');
}

/** The range does not fit into one message: it must be read in smaller parts. */
export function isMessageTooLarge(error: unknown): boolean {
  return /message larger than max/.test(errorText(error));
}

/** The server's `--max-txn-ops` is smaller. */
export function isTooManyOperations(error: unknown): boolean {
  return /too many operations in txn/.test(errorText(error));
}
