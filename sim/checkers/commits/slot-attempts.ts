import type { Allocation, Outcome } from '../../../src/core/cell/allocation.ts';
import { isAdopted } from '../../../src/core/cell/allocation.ts';
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import type { CellAt, Step } from '../replay/replay.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I22: an ended attempt of a slot is not repeated. The scheduler that places a new one knows of all that ended in the slot, so its
 * attempt number is higher. A scheduler that claimed a job without reading its outcomes would start again what is done.
 */
export class SlotAttemptsChecker {
  /** The outcomes that are kept, by slot and version of the spec. */
  readonly #ended = new Map<string, Map<string, number>>();

  check(step: Step, cell: CellAt, findings: Findings): void {
    if (step.initial) this.#ended.clear();
    for (const { before, after } of step.changed.allocations) {
      if (after === undefined || before !== undefined || step.initial || isAdopted(after)) continue;
      // Its slots are hosts, and all have one index.
      if (cell.jobs.get(jobKeyOf(after.namespace, after.job))?.job.type === 'system') continue;
      for (const [id, attempt] of this.#ended.get(slotOf(after)) ?? [])
        if (attempt >= after.attempt)
          findings.add(
            'I22',
            step.revision,
            after.id,
            `attempt ${String(after.attempt)} at a slot in which ${id}, attempt ${String(attempt)}, has ended`,
          );
    }
    for (const { before, after } of step.changed.outcomes) {
      if (before !== undefined) this.#ended.get(slotOf(before))?.delete(before.allocation);
      if (after !== undefined) this.#add(after);
    }
  }

  #add(outcome: Outcome): void {
    const slot = slotOf(outcome);
    const ended = this.#ended.get(slot);
    if (ended === undefined) this.#ended.set(slot, new Map([[outcome.allocation, outcome.attempt]]));
    else ended.set(outcome.allocation, outcome.attempt);
  }
}

function slotOf({ namespace, job, jobVersion, group, index }: Slot): string {
  return `${jobKeyOf(namespace, job)}@${String(jobVersion)}/${group}[${String(index)}]`;
}

type Slot = Pick<Allocation, 'namespace' | 'job' | 'jobVersion' | 'group' | 'index'>;
