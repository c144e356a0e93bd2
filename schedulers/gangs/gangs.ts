import type { Group } from '../../src/core/cell/job.ts';
import { isOfBrokenGang } from '../../src/core/slots/job-view.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';

/** Do its members come and go as one? A system job has one for each host instead. */
export function isWholeOnly(job: OwnedJob, group: Group | undefined): group is Group {
  return group?.gang === true && job.record.job.type !== 'system';
}

/** Members of the gang whose commit is under way: what is decided beside them would be a part of it. */
export function isUnderWay(job: OwnedJob, { name }: Group): boolean {
  return membersOf(job, name).some(({ revision }) => revision === 0);
}

/** As the slots see it: one of them has nothing but what ends with the gang. One on a lost host may stand beside its successor. */
export function beginsAgain(job: OwnedJob, { name }: Group): boolean {
  const wanted = new Set<number>();
  const ending = new Set<number>();
  for (const { allocation } of membersOf(job, name)) {
    if (allocation.desired === 'run') wanted.add(allocation.index);
    else if (isOfBrokenGang(allocation)) ending.add(allocation.index);
  }
  return [...ending].some((index) => !wanted.has(index));
}

/**
 * May the members be committed now? They were decided for a gang as it stood then, of which others may have left since, or
 * are told to: then they would be a part of it (I6).
 * @param coming the members
 * @param beside `leaving`: who goes with the same commit; `isLost`: whether a host is; `open`: slots of the gang that are to be
 *   filled besides
 */
export function staysWhole(
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
  // Whoever was to end on a lost host is gone, as the slots see it: nobody waits for its release.
  const isGone = ({ allocation: { desired, host } }: Entry): boolean =>
    desired !== 'run' && beside.isLost(host);
  const others = membersOf(job, group.name).filter(
    (entry) => !going.has(entry) && !beside.leaving.has(entry.allocation.id) && !isGone(entry),
  );
  if (others.some(({ marking }) => marking) || beginsAgain(job, group)) return false;
  if (others.some(stands)) return true;
  return others.length === 0 && beside.open() === 0;
}

/** Who gives way is there until its host has released it. */
function stands({ allocation: { desired }, revision, releasing }: Entry): boolean {
  return revision > 0 && !releasing && (desired === 'run' || desired === 'evict');
}

function membersOf(job: OwnedJob, name: string): readonly Entry[] {
  return [...job.entries.values()].filter(({ allocation }) => allocation.group === name);
}
