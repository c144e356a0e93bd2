import type { CellStore, Write } from '../../src/ports/cell-store.ts';
import { outcomeUnknown } from '../refusals.ts';

/**
 * Writes what an operator says. The last word counts, so it need not be compared with the one before.
 *
 * @returns the revision at which it holds
 * @throws ProblemError 503 when the store did not say whether it was written
 */
export async function writeLimit(store: CellStore, write: Write): Promise<number> {
  const reply = await store.attempt({ compares: [], writes: [write], readBack: [] });
  if (reply.outcome === 'unknown') throw outcomeUnknown('ask for the same again: twice counts once');
  return reply.revision;
}
