import { duplicatedBy } from '../../../src/core/slots/duplicates.ts';
import type { CellAt, Step } from '../replay/replay.ts';
import type { Findings } from '../replay/violations.ts';
import { slotOf } from './allocation-life.ts';

/** S0.14: a duplicate is stopped only for another one of its slot that is to run, and never both of a pair. */
export function checkDuplicates(step: Step, cell: CellAt, findings: Findings): void {
  if (step.initial) return;
  for (const { before, after } of step.changed.allocations) {
    if (before?.desired !== 'run' || after === undefined || after.desired === 'run') continue;
    const other = duplicatedBy(after.cause);
    if (other === null) continue;
    const kept = [...cell.allocations.values()].find(({ id }) => id === other);
    if (kept?.desired === 'run' && slotOf(kept) === slotOf(after)) continue;
    findings.add(
      'S0.14',
      step.revision,
      after.id,
      `stopped as a duplicate of ${other}, which is not to run in its slot`,
    );
  }
}
