import type { CellKeys } from '../../core/cell/keys.ts';
import type { TransactionDraft } from '../../core/commit/transaction-draft.ts';
import { StoreError } from '../../ports/cell-store.ts';
import type { AppliedAt } from './attempt.ts';
import { appliedAt, unknownWriteOf, wasCreated } from './attempt.ts';
import { readBack } from './read-back.ts';
import type { RetryPorts } from '../wait/retry.ts';
import { retryStore } from '../wait/retry.ts';

export interface ResolvedCommit {
  /** null: not applied, and it never will be. */
  readonly applied: AppliedAt | null;
  /** The revision of the fence that keeps it from being applied late; null: the ledger had moved anyway. */
  readonly fencedAt: number | null;
}

/**
 * Finds out what became of a commit without an answer (I5): reads it back behind a fence, then searches the history.
 *
 * @param sentAfter a store revision that was reached before the commit was sent
 * @param session under which it was sent
 * @returns null: the session was lost before the store answered
 * @throws StoreError that is not retryable
 */
export async function resolveCommit(
  ports: RetryPorts,
  keys: CellKeys,
  draft: TransactionDraft,
  sentAfter: number,
  session?: AbortSignal,
): Promise<ResolvedCommit | null> {
  const settled = await readBack(ports, unknownWriteOf(draft, keys), session);
  if (settled === null) return null;
  if (settled.fenced) return { applied: null, fencedAt: settled.revision };
  const applied = appliedAt(draft, settled, keys);
  if (applied !== null) return { applied, fencedAt: null };
  return createdSince(ports, keys, { draft, sentAfter }, session);
}

/** It may have been applied, and what it placed released since: the history shows it, as far back as it is kept. */
function createdSince(
  ports: RetryPorts,
  keys: CellKeys,
  { draft, sentAfter }: { readonly draft: TransactionDraft; readonly sentAfter: number },
  session?: AbortSignal,
): Promise<ResolvedCommit | null> {
  return retryStore(
    ports,
    async (): Promise<ResolvedCommit> => {
      try {
        const revision = await wasCreated(draft, ports.store, keys, sentAfter);
        return { applied: revision === null ? null : { revision, exact: true }, fencedAt: null };
      } catch (error) {
        if (!(error instanceof StoreError) || error.code !== 'compacted') throw error;
        // Compacted in the seconds since: its absence now is the best answer there is.
        return { applied: null, fencedAt: null };
      }
    },
    session,
  );
}
