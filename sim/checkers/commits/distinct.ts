import type { Allocation } from '../../../src/core/cell/allocation.ts';
import { attributeOf, plainAttribute } from '../../../src/core/host/attributes.ts';
import type { Group } from '../../../src/core/cell/job.ts';
import type { CellAt, Step } from '../replay/replay.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * What a group's `distinct` forbids is not committed: at the revision that brings an allocation, or takes back its pending preemption,
 * no other one that is to run shares its host's value of one of these attributes.
 */
export function checkDistinct(step: Step, cell: CellAt, run: RunIndex, findings: Findings): void {
  for (const { before, after } of step.changed.allocations) {
    if (after?.desired !== 'run' || before?.desired === 'run') continue;
    const group = run.groupOf(after);
    if (group === undefined || group.distinct.length === 0) continue;
    const shared = sharedBy(after, group, cell);
    if (shared !== null) findings.add('distinct', step.revision, after.id, shared);
  }
}

function sharedBy(one: Allocation, group: Group, cell: CellAt): string | null {
  const host = cell.hosts.get(one.host);
  if (host === undefined) return null;
  for (const other of cell.allocations.values()) {
    if (other.id === one.id || other.desired !== 'run' || other.group !== one.group) continue;
    if (other.namespace !== one.namespace || other.job !== one.job) continue;
    const otherHost = cell.hosts.get(other.host);
    if (otherHost === undefined) continue;
    for (const attribute of group.distinct) {
      const name = plainAttribute(attribute);
      const value = attributeOf(host, name);
      if (value !== undefined && value === attributeOf(otherHost, name))
        return `shares ${attribute} (${value}) with ${other.id}`;
    }
  }
  return null;
}
