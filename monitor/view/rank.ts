import { ownerRank } from '../../src/core/cell/ownership.ts';
import type { MonitorContext } from '../context.ts';

/**
 * Rank of this monitor among the living ones for a key, by rendezvous hashing. The monitor of rank 0 acts; should two act
 * at once, while their copies differ, the compares of their writes let one through.
 */
export function monitorRank({ copy, self }: Pick<MonitorContext, 'copy' | 'self'>, key: string): number {
  const roles = Array.from(copy.roles.rows(), ([, { value }]) => value);
  const monitors = roles.filter(({ kind }) => kind === 'monitor').map(({ id }) => id);
  return ownerRank(key, monitors, self);
}
