/**
 * Gangs: groups whose members are placed together or not at all (I6).
 *
 * 1. `decide/decide.ts` waits until all missing members are due, and places all of them in one plan.
 * 2. Without room for all of them, `preemption/gang-preemption.ts` chooses victims for the whole gang.
 * 3. `commit/commit.ts` asks for the members' tickets as one unit. Meanwhile the gang may have changed, so `completesGang`
 *    (below) is asked again before the commit. From then until the commit's answer no member is released or marked to
 *    stop: both writes are this scheduler's own, so no compare is needed.
 * 4. A gang that one transaction holds is committed all-or-nothing. For a larger one `intents.ts` writes an intent:
 *    members are reserved under it host by host, and one last transaction makes all of them effective.
 * 5. When a host refuses a member, `gang-repair.ts` moves it to another host, or lets the whole gang begin again.
 *
 * This file holds the rules that decide what a gang is and whether it is whole. See `docs/decisions/gangs.md`.
 */
import type { Group } from '../../src/core/cell/job.ts';
import { isOfBrokenGang } from '../../src/core/slots/job-view.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';

/** Is the group a gang? In a system job each member stands alone on its host. */
export function isAllOrNothing(job: OwnedJob, group: Group | undefined): group is Group {
  return group?.gang === true && job.record.job.type !== 'system';
}

/** Are members of the gang being committed? A plan beside them would be a part of a gang. */
export function isCommitting(job: OwnedJob, { name }: Group): boolean {
  return membersOf(job, name).some(({ revision }) => revision === 0);
}

/**
 * Does the gang end and begin again? Then a slot has no allocation but those that end with the gang. A member on a lost host
 * may stand beside its successor.
 */
export function isRestarting(job: OwnedJob, { name }: Group): boolean {
  const wanted = new Set<number>();
  const ending = new Set<number>();
  for (const { allocation } of membersOf(job, name)) {
    if (allocation.desired === 'run') wanted.add(allocation.index);
    else if (isOfBrokenGang(allocation)) ending.add(allocation.index);
  }
  return [...ending].some((index) => !wanted.has(index));
}

/**
 * May the members be committed now? They were decided for a gang as it stood then; of its other members some may have
 * ended since, or be marked to stop, and the commit would leave a part of a gang (I6).
 *
 * @param coming the members to commit
 * @param beside `leaving`: ids that the same commit releases; `isLost`: is a host lost; `open`: how many other slots of the
 *   gang are to be filled
 */
export function completesGang(
  job: OwnedJob,
  group: Group,
  coming: readonly Entry[],
  beside: {
    readonly leaving: ReadonlySet<string>;
    readonly isLost: (host: string) => boolean;
    readonly open: () => number;
  },
): boolean {
  const going = new Set(coming);
  // A member that was to stop on a lost host counts as gone, as it does for the slots: its release may never come.
  const isGone = ({ allocation: { desired, host } }: Entry): boolean =>
    desired !== 'run' && beside.isLost(host);
  const others = membersOf(job, group.name).filter(
    (entry) => !going.has(entry) && !beside.leaving.has(entry.allocation.id) && !isGone(entry),
  );
  if (others.some(({ marking }) => marking) || isRestarting(job, group)) return false;
  if (others.some(stands)) return true;
  return others.length === 0 && beside.open() === 0;
}

/** A victim of a preemption stands until its host has released it. */
function stands({ allocation: { desired }, revision, releasing }: Entry): boolean {
  return revision > 0 && !releasing && (desired === 'run' || desired === 'evict');
}

function membersOf(job: OwnedJob, name: string): readonly Entry[] {
  return [...job.entries.values()].filter(({ allocation }) => allocation.group === name);
}
