import type { RemedyPolicy } from '../../../src/core/detector/remedies.ts';
import {
  closedMax,
  DEFAULT_REMEDIES,
  isClosedForFault,
  poolOf,
} from '../../../src/core/detector/remedies.ts';
import type { CellAt, Step } from '../replay/replay.ts';
import type { Findings } from '../replay/violations.ts';

const HOUR_MS = 3_600_000;

/**
 * I75: no revision closes a host for a verdict while so many of its pool are closed for verdicts as may be, or marks a remedy as
 * applied while the cell has had as many within the hour as may be.
 */
export function checkRemedies(step: Step, cell: CellAt, findings: Findings): void {
  const policy = cell.remedies.get('') ?? DEFAULT_REMEDIES;
  checkShare(step, cell, policy, findings);
  checkBudget(step, cell, policy, findings);
}

function checkShare(step: Step, cell: CellAt, policy: RemedyPolicy, findings: Findings): void {
  for (const { name, before, after } of step.changed.eligibility) {
    if (after === undefined || !isClosedForFault(after)) continue;
    if (before !== undefined && isClosedForFault(before)) continue;
    const host = cell.hosts.get(name);
    if (host === undefined) continue;
    const pool = [...cell.hosts.values()].filter((other) => poolOf(other) === poolOf(host));
    const closed = pool.filter(({ id }) => {
      const known = cell.eligibility.get(id);
      return known !== undefined && isClosedForFault(known);
    });
    const max = closedMax(policy, pool.length);
    if (closed.length > max)
      findings.add(
        'I75',
        step.revision,
        name,
        `closed for a verdict, with ${String(closed.length)} of ${String(pool.length)} hosts of its pool; ${String(max)} may be`,
      );
  }
}

function checkBudget(step: Step, cell: CellAt, { perHourMax }: RemedyPolicy, findings: Findings): void {
  for (const { name, before, after } of step.changed.verdicts) {
    const isApplied = (at: number): boolean => after?.remedies[at]?.state === 'applied';
    const began = after?.remedies.find(
      (one, at) =>
        isApplied(at) && before?.remedies.find(({ remedy }) => remedy === one.remedy)?.state !== 'applied',
    );
    if (began === undefined) continue;
    let had = 0;
    for (const { remedies } of cell.verdicts.values())
      for (const { state, atMs } of remedies)
        if (state === 'applied' && Math.abs(began.atMs - atMs) < HOUR_MS) had += 1;
    if (had > perHourMax)
      findings.add(
        'I75',
        step.revision,
        name,
        `${String(had)} remedies within an hour; ${String(perHourMax)} may be`,
      );
  }
}
