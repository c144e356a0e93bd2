import type { CellKeys } from '../../core/cell/keys.ts';
import type { TransactionDraft } from '../../core/commit/transaction-draft.ts';
import { StoreError } from '../../ports/cell-store.ts';
import { Backoff } from '../wait/backoff.ts';
import type { AppliedAt } from './attempt.ts';
import { appliedAt, unknownWriteOf, wasCreated } from './attempt.ts';
import type { RetryPorts } from './read-back.ts';
import { readBack } from './read-back.ts';
import { sleep } from '../wait/wait.ts';

/** The history is asked again soon, then every few seconds, while the store is away. */
const STORE_AWAY = { firstMs: 50, maxMs: 5_000 };

export interface ResolvedCommit {
  /** null: not applied, and it never will be. */
  readonly applied: AppliedAt | null;
  /** The revision of the fence that keeps it from landing late; null: the ledger had moved anyway. */
  readonly fencedAt: number | null;
}

/**
 * Finds out what became of a commit without an answer (I5).
 *
 * @param sentAfter a store revision that was reached before the commit was sent
 * @param session under which it was sent
 * @returns null: the session was lost before the store answered
 * @throws StoreError that is not retryable
 */
export async function resolveCommit(
  waiting: RetryPorts,
  keys: CellKeys,
  draft: TransactionDraft,
  sentAfter: number,
  session?: AbortSignal,
): Promise<ResolvedCommit | null> {
  const settled = await readBack(waiting, unknownWriteOf(draft, keys), session);
  if (settled === null) return null;
  if (settled.fenced) return { applied: null, fencedAt: settled.revision };
  const applied = appliedAt(draft, settled, keys);
  if (applied !== null) return { applied, fencedAt: null };
  return createdSince(waiting, keys, { draft, sentAfter }, session);
}

/** The last doubt: it may have landed, and what it placed may be gone again. The history knows, as far as it is kept. */
async function createdSince(
  { store, clock, random }: RetryPorts,
  keys: CellKeys,
  { draft, sentAfter }: { readonly draft: TransactionDraft; readonly sentAfter: number },
  session?: AbortSignal,
): Promise<ResolvedCommit | null> {
  const backoff = new Backoff(STORE_AWAY, random);
  while (session?.aborted !== true) {
    try {
      const revision = await wasCreated(draft, store, keys, sentAfter);
      return { applied: revision === null ? null : { revision, exact: true }, fencedAt: null };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      // Forgotten in the seconds since: then its absence now is the best answer there is.
      if (error.code === 'compacted') return { applied: null, fencedAt: null };
      if (!error.retryable) throw error;
      await sleep(clock, backoff.nextMs(), session);
    }
  }
  return null;
}
