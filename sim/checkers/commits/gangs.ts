import type { Allocation } from '../../../src/core/cell/allocation.ts';
import { isAdopted } from '../../../src/core/cell/allocation.ts';
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import type { IntentRef } from '../../../src/core/cell/intent.ts';
import { CAUSES } from '../../../src/core/slots/job-view.ts';
import type { CellAt, Step } from '../replay/replay.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I6: a gang stands whole or not at all until its members end by themselves.
 *
 * - A plan's members become visible in one revision.
 * - Where no member is visible, all come whose slot has not ended.
 * - The claim of a member that never began goes with the last of the other members, or comes back elsewhere in the same
 *   revision.
 * - Members under an intent are invisible until the intent is deleted while it is open. They are added under an open intent
 *   only, and none is left when a void intent is deleted.
 * - A preemption pending for an intent is marked under an open intent only and taken back under a void one only, and none is left
 *   when a void intent is deleted.
 */
export class GangChecker {
  /** The revision at which a plan's members came. */
  readonly #plans = new Map<string, number>();
  /** Slots of each group and version whose member ended by itself. */
  readonly #ended = new Map<string, Set<number>>();

  /** @param isNew false: the allocation comes back from its host after the store was restored */
  check(
    step: Step,
    cell: CellAt,
    findings: Findings,
    isNew: (allocation: Allocation) => boolean = (allocation) => !isAdopted(allocation),
  ): void {
    if (step.initial) this.#plans.clear();
    this.#takeEnds(step);
    if (step.initial) return;
    const changed = new Map<string, Changed>();
    const outcomes = new Set(step.changed.outcomes.map(({ after }) => after?.allocation));
    for (const { before, after } of step.changed.allocations) {
      if (after !== undefined) checkPreemption(step.revision, before, after, cell, findings);
      const allocation = after ?? before;
      if (allocation === undefined || !isGang(cell, allocation)) continue;
      const isReleased = after === undefined && before?.desired === 'run' && !outcomes.has(allocation.id);
      if (before !== undefined && !isReleased) continue;
      if (allocation.intent !== undefined) {
        if (after !== undefined) checkReserved(step.revision, after, cell, findings);
        if (after !== undefined || isReserved(allocation, cell)) continue;
      }
      const found = changedOf(changed, allocation);
      if (isReleased) found.released.push(allocation);
      else if (after !== undefined && isNew(after)) found.fresh.push(after);
    }
    for (const { name, before, after } of step.changed.intents) {
      if (after !== undefined || before === undefined) continue;
      const members = [...cell.allocations.values()].filter(({ intent }) => intent === before.id);
      if (before.state === 'open')
        for (const member of members) changedOf(changed, member).fresh.push(member);
      else checkVoid(step.revision, name, members.length, pendingPreemptions(before.id, cell), findings);
    }
    for (const [group, { fresh, released }] of changed) {
      for (const member of fresh) this.#checkPlan(step.revision, member, findings);
      const members = membersOf(group, cell);
      const wanted = members.filter(({ desired }) => desired === 'run');
      if (members.length === fresh.length) this.#checkWhole(step.revision, group, fresh, cell, findings);
      for (const member of released) checkReleased(step.revision, member, wanted, findings);
    }
  }

  #takeEnds(step: Step): void {
    for (const { after } of step.changed.outcomes) {
      // A member that was to be stopped, and completed first, is complete all the same.
      const isEnd =
        after?.state === 'complete' || after?.cause === undefined || after.cause === CAUSES.unplaceable;
      if (after === undefined || !isEnd) continue;
      const key = `${groupKey(after)}@${String(after.jobVersion)}`;
      const ended = this.#ended.get(key);
      if (ended === undefined) this.#ended.set(key, new Set([after.index]));
      else ended.add(after.index);
    }
  }

  #checkPlan(revision: number, { planId, id }: Allocation, findings: Findings): void {
    const earlier = this.#plans.get(planId);
    if (earlier !== undefined && earlier !== revision)
      findings.add('I6', revision, id, `a part of plan ${planId} was visible before, at ${String(earlier)}`);
    this.#plans.set(planId, revision);
  }

  #checkWhole(
    revision: number,
    group: string,
    fresh: readonly Allocation[],
    cell: CellAt,
    findings: Findings,
  ): void {
    const [first] = fresh;
    if (first === undefined) return;
    const record = cell.jobs.get(jobKeyOf(first.namespace, first.job));
    // The plan may be of the spec before the last one, whose count is another.
    if (record?.version !== first.jobVersion) return;
    const count = record.job.groups[first.group]?.count ?? 0;
    const ended = this.#ended.get(`${group}@${String(first.jobVersion)}`);
    const indices = new Set(fresh.map(({ index }) => index));
    let missing = 0;
    for (let index = 0; index < count; index++)
      if (!indices.has(index) && ended?.has(index) !== true) missing += 1;
    if (missing > 0)
      findings.add('I6', revision, group, `${String(fresh.length)} of ${String(count)} members are visible`);
  }
}

interface Changed {
  readonly fresh: Allocation[];
  readonly released: Allocation[];
}

function changedOf(changed: Map<string, Changed>, allocation: Allocation): Changed {
  const group = groupKey(allocation);
  let found = changed.get(group);
  if (found === undefined) changed.set(group, (found = { fresh: [], released: [] }));
  return found;
}

function checkReserved(revision: number, member: Allocation, cell: CellAt, findings: Findings): void {
  const intent = cell.intents.get(intentKey(member));
  if (intent?.state !== 'open')
    findings.add('I6', revision, member.id, `comes under an intent that is ${intent?.state ?? 'not there'}`);
}

function checkVoid(
  revision: number,
  name: string,
  members: number,
  victims: number,
  findings: Findings,
): void {
  if (members > 0)
    findings.add('I6', revision, name, `void, and it leaves ${String(members)} members behind`);
  if (victims > 0)
    findings.add('I6', revision, name, `void, and ${String(victims)} pending preemptions for it are left`);
}

function pendingPreemptions(intent: string, cell: CellAt): number {
  let count = 0;
  for (const { yields } of cell.allocations.values()) if (yields?.intent.id === intent) count += 1;
  return count;
}

function checkPreemption(
  revision: number,
  before: Allocation | undefined,
  after: Allocation,
  cell: CellAt,
  findings: Findings,
): void {
  const stateOf = ({ namespace, job, id }: IntentRef): string =>
    cell.intents.get(`${jobKeyOf(namespace, job)}/${id}`)?.state ?? 'not there';
  const began = before?.yields === undefined && after.yields !== undefined ? after.yields.intent : null;
  if (began !== null && stateOf(began) !== 'open')
    findings.add('I6', revision, after.id, `is preempted for a gang whose intent is ${stateOf(began)}`);
  const ended = before?.yields !== undefined && after.yields === undefined ? before.yields.intent : null;
  if (ended !== null && stateOf(ended) !== 'void')
    findings.add('I6', revision, after.id, `is taken back from a gang whose intent is ${stateOf(ended)}`);
}

function isReserved(member: Allocation, cell: CellAt): boolean {
  return member.intent !== undefined && cell.intents.has(intentKey(member));
}

function intentKey({ namespace, job, intent }: Allocation): string {
  return `${jobKeyOf(namespace, job)}/${intent ?? ''}`;
}

function checkReleased(
  revision: number,
  member: Allocation,
  wanted: readonly Allocation[],
  findings: Findings,
): void {
  if (wanted.length === 0 || wanted.some(({ index }) => index === member.index)) return;
  const left = `${String(wanted.length)} others of its gang are left without it`;
  findings.add('I6', revision, member.id, `its claim is released, and ${left}`);
}

/** The members that should run, or did until another scheduler preempted them, which their own may not know yet. */
function membersOf(group: string, cell: CellAt): readonly Allocation[] {
  const members: Allocation[] = [];
  for (const allocation of cell.allocations.values())
    if (allocation.desired === 'run' || allocation.desired === 'evict')
      if (groupKey(allocation) === group && !isReserved(allocation, cell)) members.push(allocation);
  return members;
}

function isGang(cell: CellAt, { namespace, job, group }: Allocation): boolean {
  return cell.jobs.get(jobKeyOf(namespace, job))?.job.groups[group]?.gang === true;
}

function groupKey({ namespace, job, group }: Slot): string {
  return `${jobKeyOf(namespace, job)}/${group}`;
}

type Slot = Pick<Allocation, 'namespace' | 'job' | 'group'>;
