import type { CellStore, Write } from '../../src/ports/cell-store.ts';
import { outcomeUnknown } from '../refusals.ts';

/**
 * What operators define. `quotas.ts`: what namespaces may use. `shared-resources.ts`: what hosts share.
 *
 * `limits.ts` writes both: the last write wins, so nothing is compared.
 *
 * @returns the revision at which it holds
 * @throws ProblemError 503 when the store did not say whether it was written
 */
export async function writeLimit(store: CellStore, write: Write): Promise<number> {
  const reply = await store.attempt({ compares: [], writes: [write], readBack: [] });
  if (reply.outcome === 'unknown') throw outcomeUnknown('ask for the same again: twice counts once');
  return reply.revision;
}
