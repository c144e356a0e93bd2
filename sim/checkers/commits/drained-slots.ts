import type { Allocation, Outcome } from '../../../src/core/cell/allocation.ts';
import { isAdopted } from '../../../src/core/cell/allocation.ts';
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import type { Group } from '../../../src/core/cell/job.ts';
import { CAUSES } from '../../../src/core/slots/job-view.ts';
import type { CellAt, Step } from '../replay/replay.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';
import { slotOf } from './allocation-life.ts';

/**
 * S0.1: what no drain moves (`reschedule.onDrain: false`) is not stopped by a drain without a deadline, and after one with a
 * deadline its slot is filled on the same host, or when that is lost or gone. Only where every version of its job says so: a
 * scheduler may know an older one.
 */
export function checkDrainedSlots(step: Step, cell: CellAt, run: RunIndex, findings: Findings): void {
  if (step.initial) return;
  for (const { before, after } of step.changed.allocations) {
    if (after === undefined || isAdopted(after) || !staysInAll(after, run)) continue;
    if (before?.desired === 'run' && after.desired !== 'run') checkStopped(after, step, run, findings);
    if (before === undefined) checkPlaced(after, step, cell, run, findings);
  }
}

function staysInAll({ namespace, job, group }: Allocation, run: RunIndex): boolean {
  const versions = run.jobs.get(jobKeyOf(namespace, job)) ?? [];
  const groups = versions.flatMap(({ fact }): (Group | undefined)[] =>
    fact === null || fact.job.type === 'system' ? [] : [fact.job.groups[group]],
  );
  return groups.length > 0 && groups.every((one) => one?.reschedule.onDrain === false);
}

function checkStopped({ id, host, cause }: Allocation, step: Step, run: RunIndex, findings: Findings): void {
  if (cause !== CAUSES.draining) return;
  const verdicts = run.eligibility.get(host) ?? [];
  if (verdicts.some(({ fact }) => fact?.drainDeadlineMs !== undefined)) return;
  findings.add(
    'S0.1',
    step.revision,
    id,
    `stopped on ${host}, whose drain has no deadline, and no drain moves it`,
  );
}

function checkPlaced(one: Allocation, step: Step, cell: CellAt, run: RunIndex, findings: Findings): void {
  const last = lastEndOf(one, run);
  if (last?.cause !== CAUSES.draining || last.host === one.host) return;
  if (!cell.hosts.has(last.host) || wasLost(last.host, run)) return;
  const text = `placed on ${one.host} after a drain of ${last.host}, which no drain moves it from`;
  findings.add('S0.1', step.revision, one.id, text);
}

function wasLost(host: string, run: RunIndex): boolean {
  return (run.eligibility.get(host) ?? []).some(({ fact }) => fact?.state === 'lost');
}

/** The newest end in its slot. */
function lastEndOf(one: Allocation, run: RunIndex): Outcome | undefined {
  let last: Outcome | undefined;
  for (const { fact } of run.outcomes.values()) {
    if (slotOf(fact) !== slotOf(one)) continue;
    if (last === undefined || fact.attempt > last.attempt) last = fact;
  }
  return last;
}
