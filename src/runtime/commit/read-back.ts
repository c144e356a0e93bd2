import type { Compare, Entry, Write } from '../../ports/cell-store.ts';
import type { RetryPorts } from '../wait/retry.ts';
import { retryStore } from '../wait/retry.ts';

/** Soon at first, since most unknown outcomes are one lost reply. */
const DELAYS = { firstMs: 20, maxMs: 2_000 };

/** A write whose reply never came. */
export interface UnknownWrite {
  /**
   * One of the attempt's own compares on a mod revision, and a put of that key which changes nothing but the revision.
   */
  readonly fence: { readonly compare: Compare; readonly write: Write };
  /** Keys that show whether the attempt was applied. */
  readonly evidence: readonly string[];
}

export type ReadBackResult =
  /** The attempt was not applied, and never will be. */
  | { readonly fenced: true; readonly revision: number }
  /** The fence key had moved; `found` holds the evidence, read in one revision. The attempt cannot be applied after it. */
  | { readonly fenced: false; readonly revision: number; readonly found: ReadonlyMap<string, Entry> };

/**
 * Finds out whether a write with an unknown outcome was applied.
 *
 * Reading alone is no answer: the request may still be on its way, and be applied after the read. So the read-back is
 * itself a transaction, which compares the same mod revision as the attempt did:
 *
 * - The compare holds: the attempt has not been applied. The fence now moves the revision, and revisions never return, so
 *   the attempt's own compare fails whenever it arrives. Not applied, for good.
 * - The compare fails: the key has moved, by the attempt or by another write, so again the attempt cannot be applied any
 *   more. The evidence is read in the same transaction: what only this attempt could have written is there or it is not.
 * - The fence's own outcome is unknown: repeat. If the fence was applied after all, the next compare fails and finds no
 *   evidence.
 *
 * Repeats until the store answers, or the session is lost: the fence is a write too, and a store that is restored
 * meanwhile may hold what it compares.
 * @param session under which the attempt was made; without one it is repeated for ever
 * @returns null: the session is lost, and the outcome stays unknown
 * @throws StoreError that is not retryable
 */
export function readBack(
  ports: RetryPorts,
  unknown: UnknownWrite,
  session?: AbortSignal,
): Promise<ReadBackResult | null> {
  const attempt = {
    compares: [unknown.fence.compare],
    writes: [unknown.fence.write],
    readBack: unknown.evidence,
  };
  return retryStore(
    ports,
    async (): Promise<ReadBackResult | null> => {
      const reply = await ports.store.attempt(attempt);
      if (reply.outcome === 'unknown') return null;
      if (reply.outcome === 'applied') return { fenced: true, revision: reply.revision };
      return { fenced: false, revision: reply.revision, found: reply.found };
    },
    session,
    DELAYS,
  );
}
