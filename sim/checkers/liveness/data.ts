import { claimName } from '../../../src/core/cell/volume.ts';
import type { Group, JobRecord } from '../../../src/core/cell/job.ts';
import { volumePool } from '../../../src/core/quota/volume-claims.ts';
import type { CellAt } from '../replay/replay.ts';

/**
 * The hosts that the data of a slot leaves it: the one on which it lies, none while somebody else has it, all where there is none yet or a
 * driver brings it.
 * @param index null: of any slot; then data of single slots is not known
 */
export function hostsOfData(
  cell: CellAt,
  { job }: JobRecord,
  group: Group,
  index: number | null,
): ReadonlySet<string> | 'all' {
  let only: ReadonlySet<string> | 'all' = 'all';
  for (const [name, volume] of Object.entries(group.volumes ?? {})) {
    if (index === null) return NOWHERE;
    const claim = claimName(job.name, group.name, { name, volume, index });
    const pool = cell.pools.get(volumePool(job.namespace, claim));
    if (pool?.volume === undefined) continue;
    const { access, deleting, driver, host } = pool.volume;
    if (deleting === true || driver !== volume.driver || access !== volume.access) return NOWHERE;
    if (access === 'exclusive' && pool.used > 0) return NOWHERE;
    if (driver === undefined) only = new Set([host]);
  }
  return only;
}

const NOWHERE: ReadonlySet<string> = new Set();
