import type { Allocation } from '../../../src/core/cell/allocation.ts';
import { canonicalJson } from '../../../src/core/json/canonical-json.ts';
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import { keepsReturned } from '../../../src/core/slots/duplicates.ts';
import type { CellAt, Diff, Step } from '../replay/replay.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * One allocation's record through time: I4 (a commit lands once, so an id is created once), I8 (it only moves forward, and
 * nothing but its desired state ever moves) and I12 (one that should run in each slot).
 */
export class AllocationLifeChecker {
  /** Every id that was ever there, with its host. */
  readonly #created = new Map<string, string>();
  /** The allocations that should run in each slot. */
  readonly #running = new Map<string, Set<string>>();

  get seen(): number {
    return this.#created.size;
  }

  /** The host to which the allocation was ever committed. */
  hostOf(id: string): string | undefined {
    return this.#created.get(id);
  }

  check(step: Step, cell: CellAt, findings: Findings): void {
    // After a restore only what the store holds was created: what it lost comes back from the hosts, under the same id.
    if (step.initial) this.#created.clear();
    if (step.initial) for (const { id, host } of cell.allocations.values()) this.#created.set(id, host);
    const slots = new Set<string>();
    for (const diff of step.changed.allocations) {
      if (!step.initial) this.#checkCreated(step, diff, findings);
      if (!step.initial) checkForward(step, diff, findings);
      const slot = this.#track(diff);
      if (slot !== null) slots.add(slot);
    }
    for (const slot of slots) {
      const ids = this.#running.get(slot);
      if (ids !== undefined && ids.size > 1 && !areSetAside(ids, cell))
        findings.add(
          'I12',
          step.revision,
          slot,
          `${[...ids].sort().join(' and ')} should all run in one slot`,
        );
    }
    for (const diff of step.changed.outcomes) checkOutcome(step, diff, cell, findings);
  }

  #checkCreated(step: Step, { key, before, after }: Diff<Allocation>, findings: Findings): void {
    if (after === undefined || before !== undefined) return;
    const earlier = this.#created.get(after.id);
    if (earlier !== undefined)
      findings.add('I4', step.revision, key, `${after.id} is committed a second time; before on ${earlier}`);
    this.#created.set(after.id, after.host);
  }

  /** @returns the slot in which one more allocation should run now; null: none */
  #track({ before, after }: Diff<Allocation>): string | null {
    if (before?.desired === 'run') {
      const slot = slotOf(before);
      const ids = this.#running.get(slot);
      ids?.delete(before.id);
      if (ids?.size === 0) this.#running.delete(slot);
    }
    if (after?.desired !== 'run') return null;
    const slot = slotOf(after);
    const ids = this.#running.get(slot) ?? new Set<string>();
    ids.add(after.id);
    this.#running.set(slot, ids);
    return slot;
  }
}

/** All but the newest are on lost hosts, and their job may keep one of them when it is back (`reschedule.onReturn`). */
function areSetAside(ids: ReadonlySet<string>, cell: CellAt): boolean {
  const all = [...cell.allocations.values()].filter(({ id }) => ids.has(id));
  const newest = Math.max(...all.map(({ attempt }) => attempt));
  const others = all.filter(({ attempt }) => attempt < newest);
  if (others.length !== all.length - 1) return false;
  return others.every(({ host, namespace, job, jobVersion, group }) => {
    const key = jobKeyOf(namespace, job);
    const specs = [cell.jobs.get(key)?.job, cell.versions.get(`${key}/${String(jobVersion)}`)?.job];
    const mayKeep = specs.some((spec) => {
      const of = spec?.groups[group];
      return of !== undefined && keepsReturned(of);
    });
    return mayKeep && cell.eligibility.get(host)?.state === 'lost';
  });
}

type InSlot = Pick<Allocation, 'namespace' | 'job' | 'group' | 'index'>;

export function slotOf({ namespace, job, group, index }: InSlot): string {
  return `${jobKeyOf(namespace, job)}/${group}[${String(index)}]`;
}

/** The states that may follow each desired state: never `run` again, and none follows a preemption. */
const FORWARD: Readonly<Record<Allocation['desired'], readonly Allocation['desired'][]>> = {
  run: ['stop', 'remove', 'evict'],
  stop: ['remove', 'evict'],
  remove: ['evict'],
  evict: [],
};

function checkForward(step: Step, { key, before, after }: Diff<Allocation>, findings: Findings): void {
  if (before === undefined || after === undefined) return;
  // A preemption pending for an intent may be taken back; whether it was rightly is checked by the gang checker.
  const isBack = before.desired === 'evict' && before.yields !== undefined && after.desired === 'run';
  if (before.desired !== after.desired && !isBack && !FORWARD[before.desired].includes(after.desired))
    findings.add('I8', step.revision, key, `desired went from ${before.desired} back to ${after.desired}`);
  if (fixedPart(before) !== fixedPart(after))
    findings.add('I8', step.revision, key, 'something else than its desired state changed');
}

function fixedPart({ desired: _desired, cause: _cause, yields: _yields, ...fixed }: Allocation): string {
  return canonicalJson(fixed);
}

function checkOutcome(
  step: Step,
  diff: Step['changed']['outcomes'][number],
  cell: CellAt,
  findings: Findings,
): void {
  if (diff.after === undefined || step.initial) return;
  if (diff.before !== undefined)
    findings.add('I8', step.revision, diff.key, 'an outcome that was final changed');
  if (cell.allocations.has(diff.name))
    findings.add('I8', step.revision, diff.key, 'it has its outcome, and its record is still there');
}
