import type { Allocation } from '../../src/core/allocation.ts';
import { jobKeyOf } from '../../src/core/ids.ts';
import type { CellAt, Step } from './cell-replay.ts';
import type { Findings } from './violations.ts';

interface GangPlan {
  readonly revision: number;
}

/**
 * I6: the members of a gang become visible in one revision, whole. A plan's members come together always; and where none
 * of the group was there before, and none has ended, all of `count` come.
 */
export class GangChecker {
  readonly #plans = new Map<string, GangPlan>();
  /** Groups that have had a member: from then on single members may be replaced. */
  readonly #begun = new Set<string>();

  check(step: Step, cell: CellAt, findings: Findings): void {
    const fresh = new Map<string, Allocation[]>();
    for (const { after, before } of step.changed.allocations) {
      if (after === undefined || before !== undefined || !isGang(cell, after)) continue;
      const earlier = this.#plans.get(after.planId);
      if (earlier !== undefined && earlier.revision !== step.revision)
        findings.add(
          'I6',
          step.revision,
          after.id,
          `a part of plan ${after.planId} was visible before, at ${String(earlier.revision)}`,
        );
      this.#plans.set(after.planId, { revision: step.revision });
      const group = groupKey(after);
      fresh.set(group, [...(fresh.get(group) ?? []), after]);
    }
    for (const [group, members] of fresh) {
      if (!this.#begun.has(group)) checkWhole(step.revision, group, members, cell, findings);
      this.#begun.add(group);
    }
  }
}

function checkWhole(
  revision: number,
  group: string,
  members: readonly Allocation[],
  cell: CellAt,
  findings: Findings,
): void {
  const [first] = members;
  if (first === undefined) return;
  const record = cell.jobs.get(jobKeyOf(first.namespace, first.job));
  // The plan may be of the spec before the last one, whose count is another.
  if (record?.version !== first.jobVersion) return;
  const count = record.job.groups[first.group]?.count ?? 0;
  if (members.length < count)
    findings.add('I6', revision, group, `${String(members.length)} of ${String(count)} members are visible`);
}

function isGang(cell: CellAt, { namespace, job, group }: Allocation): boolean {
  return cell.jobs.get(jobKeyOf(namespace, job))?.job.groups[group]?.gang === true;
}

function groupKey({ namespace, job, group }: Allocation): string {
  return `${jobKeyOf(namespace, job)}/${group}`;
}
