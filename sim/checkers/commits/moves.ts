import type { Allocation } from '../../../src/core/cell/allocation.ts';
import { isAdopted } from '../../../src/core/cell/allocation.ts';
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import { CAUSES } from '../../../src/core/slots/job-view.ts';
import { whyFixed } from '../../../src/core/slots/movable.ts';
import type { Step } from '../replay/replay.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * S0.38: what is stopped to be moved was asked for by its id, of a job that runs and by a policy that lets it move. Only by what
 * some version of its job says: a scheduler may know an older one.
 */
export function checkMoves(step: Step, run: RunIndex, findings: Findings): void {
  if (step.initial) return;
  for (const { before, after } of step.changed.allocations) {
    if (before?.desired !== 'run' || after === undefined || isAdopted(after)) continue;
    if (after.cause?.startsWith(CAUSES.moved) !== true || isAskedFor(after, run)) continue;
    findings.add(
      'S0.38',
      step.revision,
      after.id,
      `stopped on ${after.host} to be moved, which nobody asked`,
    );
  }
}

function isAskedFor({ id, namespace, job, group: name }: Allocation, run: RunIndex): boolean {
  const records = run.jobs.get(jobKeyOf(namespace, job)) ?? [];
  return records.some(({ fact }) => {
    const group = fact?.job.groups[name];
    if (fact === null || group === undefined || fact.desired !== 'run') return false;
    const isNamed = fact.moves?.some(({ allocation }) => allocation === id) === true;
    return isNamed && whyFixed(fact.job, group) === null;
  });
}
