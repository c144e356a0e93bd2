import { CAUSES } from '../../../src/core/slots/job-view.ts';
import type { CellAt, Step } from '../replay/replay.ts';
import type { Findings } from '../replay/violations.ts';
import { slotOf } from './allocation-life.ts';

/** S0.14: a duplicate is stopped only for another one of its slot that is to run, and never both of a pair. */
export function checkDuplicates(step: Step, cell: CellAt, findings: Findings): void {
  if (step.initial) return;
  for (const { before, after } of step.changed.allocations) {
    if (before?.desired !== 'run' || after === undefined || after.desired === 'run') continue;
    if (after.cause?.startsWith(CAUSES.duplicate) !== true) continue;
    const other = after.cause.slice(CAUSES.duplicate.length + 1);
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
