import type { Allocation } from '../../../src/core/cell/allocation.ts';
import { isAdopted } from '../../../src/core/cell/allocation.ts';
import { SURPLUS_PRECEDENCE } from '../../../src/core/cell/claim.ts';
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import type { Group } from '../../../src/core/cell/job.ts';
import { slotsMaxOf } from '../../../src/core/cell/job.ts';
import { CAUSES } from '../../../src/core/slots/job-view.ts';
import type { Step } from '../replay/replay.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I71: what an elastic group has above its minimum gives way to everybody: it is placed below every job's precedence, beyond the
 * minimum and within the maximum, and preempts nobody. The minimum has the precedence of its job, and is not scaled down.
 */
export function checkSurplus(step: Step, run: RunIndex, findings: Findings): void {
  for (const { before, after } of step.changed.allocations) {
    if (after === undefined || isAdopted(after)) continue;
    if (before === undefined) checkPlaced(after, step, run, findings);
    else if (before.desired === 'run' && after.cause === CAUSES.scaledDown)
      checkScaledDown(after, step, run, findings);
  }
}

function checkPlaced(one: Allocation, step: Step, run: RunIndex, findings: Findings): void {
  const { precedence, evicts = [], jobVersion, index } = one;
  const isSurplus = precedence === SURPLUS_PRECEDENCE;
  if (isSurplus && evicts.length > 0)
    findings.add('I71', step.revision, one.id, `surplus that preempts ${evicts.join(', ')}`);
  const group = groupsOf(one, run).get(jobVersion);
  if (group === undefined) return;
  const range = `${String(group.count)}..${String(slotsMaxOf(group))}`;
  const text = `in slot ${String(index)} of ${range} at precedence ${String(precedence)}`;
  const isBeyond = group.countMax !== undefined && index >= group.count;
  if (isSurplus !== isBeyond || (isSurplus && index >= slotsMaxOf(group)))
    findings.add('I71', step.revision, one.id, text);
}

/** Only where no version of the job has a smaller minimum: a scheduler may know another one. */
function checkScaledDown(one: Allocation, step: Step, run: RunIndex, findings: Findings): void {
  const groups = [...groupsOf(one, run).values()];
  if (groups.length === 0 || groups.some((group) => one.index >= group.count)) return;
  findings.add('I71', step.revision, one.id, `scaled down, though its slot is of the minimum`);
}

/** By version, all that was ever written. */
function groupsOf({ namespace, job, group }: Allocation, run: RunIndex): ReadonlyMap<number, Group> {
  const groups = new Map<number, Group>();
  for (const { fact } of run.jobs.get(jobKeyOf(namespace, job)) ?? []) {
    const found = fact?.job.groups[group];
    if (fact !== null && found !== undefined) groups.set(fact.version, found);
  }
  return groups;
}
