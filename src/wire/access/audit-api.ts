import type { AuditRecord } from '../../core/access/audit.ts';

/**
 * The monitor's API about who did what.
 *
 *   GET /v1/audit?by&act&namespace&target&since&limit   → AuditAnswer; `by` and `target` find what begins with them, `since`
 *                                                         is in milliseconds since 1970
 *
 * Every answer to a request that is recorded has its id in `x-request-id`: the client's own, if it sent one.
 */
export interface AuditAnswer {
  /** The newest last. */
  readonly records: readonly AuditRecord[];
  /** Older ones fit as well. */
  readonly isCut: boolean;
}

export const REQUEST_ID_HEADER = 'x-request-id';
export const AUDIT_ANSWER_MAX = 1_000;
