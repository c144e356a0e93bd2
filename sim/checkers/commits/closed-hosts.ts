import type { Allocation } from '../../../src/core/cell/allocation.ts';
import type { CellAt, Step } from '../replay/replay.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I62: no revision places an allocation on a host that is closed at that revision.
 * @param isNew false: the allocation comes back from its host after the store was restored
 */
export function checkClosed(
  step: Step,
  cell: CellAt,
  findings: Findings,
  isNew: (allocation: Allocation) => boolean,
): void {
  for (const { before, after } of step.changed.allocations) {
    if (before !== undefined || after === undefined || !isNew(after)) continue;
    const state = cell.eligibility.get(after.host)?.state ?? 'ready';
    if (state !== 'ready') findings.add('I62', step.revision, after.id, `placed on ${after.host}, ${state}`);
  }
}
