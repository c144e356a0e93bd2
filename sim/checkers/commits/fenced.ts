import type { Allocation } from '../../../src/core/cell/allocation.ts';
import { isAdopted } from '../../../src/core/cell/allocation.ts';
import { SELF_FENCE } from '../../../src/core/host/fences.ts';
import { GIVEN_UP } from '../../../src/core/slots/given-up.ts';
import type { CellAt, Step } from '../replay/replay.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';
import { slotOf } from './allocation-life.ts';

/**
 * I72: nothing takes the place of an allocation that wants a fence, and its claim is not given up, before one of its fences has confirmed
 * a verdict that is newer than its claim, or its host was removed. What its host itself may end (`self`) is seen by what runs
 * (`processes/overlaps.ts`).
 */
export class FenceChecker {
  /** By host and fence, the newest counter that was confirmed: that holds whatever becomes of the host. */
  readonly #confirmed = new Map<string, number>();

  /** @param isNew false: the allocation comes back from its host after the store was restored */
  check(
    step: Step,
    cell: CellAt,
    run: RunIndex,
    findings: Findings,
    isNew: (allocation: Allocation) => boolean,
  ): void {
    for (const { name, after } of step.changed.eligibility) {
      if (after?.state !== 'lost') continue;
      if (after.confirmed === 'removed') this.#confirm(name, '', after.counter);
      for (const [fence, { confirmed, counter }] of Object.entries(after.fences ?? {}))
        if (confirmed) this.#confirm(name, fence, counter);
    }
    if (step.initial) return;
    for (const { before, after } of step.changed.allocations) {
      if (before === undefined && after !== undefined && !isAdopted(after) && isNew(after))
        for (const older of cell.allocations.values())
          if (older.id !== after.id && slotOf(older) === slotOf(after) && this.#isAwaited(older, run))
            findings.add(
              'I72',
              step.revision,
              after.id,
              `placed while ${older.id} on ${older.host} wants a fence, and none has confirmed`,
            );
      if (before !== undefined && after === undefined && this.#isAwaited(before, run))
        for (const { after: outcome } of step.changed.outcomes)
          if (outcome?.allocation === before.id && outcome.exit?.lost === GIVEN_UP)
            findings.add(
              'I72',
              step.revision,
              before.id,
              `given up on ${before.host}, and no fence has confirmed`,
            );
    }
  }

  #confirm(host: string, fence: string, counter: number): void {
    const key = `${host} ${fence}`;
    this.#confirmed.set(key, Math.max(this.#confirmed.get(key) ?? 0, counter));
  }

  #isAwaited(allocation: Allocation, run: RunIndex): boolean {
    const fences = run.groupOf(allocation)?.fences;
    if (fences === undefined || fences.includes(SELF_FENCE)) return false;
    const { host, epoch } = allocation;
    return ['', ...fences].every((fence) => (this.#confirmed.get(`${host} ${fence}`) ?? 0) <= epoch.counter);
  }
}
