/**
 * What operators define. `quotas.ts`: what namespaces may use. `shared-resources.ts`: what hosts share. `pauses.ts`: what is
 * paused. `volumes.ts`: data that outlives allocations. `budgets.ts`: what the cell may do of its own accord.
 */
import type { Write } from '../../src/ports/cell-store.ts';
import { outcomeUnknown } from '../refusals.ts';
import type { RolePorts } from '../../src/runtime/runtime.ts';

export type LimitPorts = Pick<RolePorts, 'store' | 'keys'>;

/**
 * Writes a definition: the last write wins, so nothing is compared.
 *
 * @returns the revision at which it holds
 * @throws ProblemError 503 when the store did not say whether it was written
 */
export async function writeLimit({ store }: LimitPorts, write: Write): Promise<number> {
  const reply = await store.attempt({ compares: [], writes: [write], readBack: [] });
  if (reply.outcome === 'unknown') throw outcomeUnknown('ask for the same again: twice counts once');
  return reply.revision;
}
