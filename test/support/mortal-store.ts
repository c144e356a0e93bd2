import type { Attempt, AttemptReply, CellStore } from '../../src/ports/cell-store.ts';
import { withCalls } from './changed-store.ts';

/**
 * The client of a process that is killed after so many attempts: the next one may still reach the store, and no answer
 * ever comes back, so that nothing after it happens.
 *
 * @param deadAfter null: it lives
 */
export function mortal(
  store: CellStore,
  deadAfter: number | null,
): { readonly store: CellStore; readonly died: Promise<void> } {
  let left = deadAfter ?? Number.POSITIVE_INFINITY;
  let die: () => void = () => undefined;
  const died = new Promise<void>((resolve) => (die = resolve));
  const attempt = async (one: Attempt): Promise<AttemptReply> => {
    if (left > 0) {
      left -= 1;
      const reply = await store.attempt(one);
      if (left > 0) return reply;
    }
    die();
    return new Promise<never>(() => undefined);
  };
  return { store: withAttempt(store, attempt), died };
}

/** The same store with another way to attempt. */
export function withAttempt(store: CellStore, attempt: (one: Attempt) => Promise<AttemptReply>): CellStore {
  return withCalls(store, { attempt });
}
