import type { Allocation } from '../cell/allocation.ts';
import type { Group } from '../cell/job.ts';
import { isConfirmed, SELF_FENCE } from '../host/fences.ts';
import type { JobView } from './job-view.ts';

/** From the kill of a task to the end of its last process: a kill is repeated every half second. */
const KILL_MS = 2_000;

/**
 * When what a lost host held may be replaced. Where its group names fences, when one of them has confirmed that it runs no more (I72); else
 * when its job says that it has ended by itself (I14), or at once.
 * @returns in how many milliseconds; 0: now; null: not before a fence confirms
 */
export function surelyOverInMs(view: JobView, allocation: Allocation): number | null {
  const { cutOffMs = 0, fences: answers, isRemoved } = view.hostCondition(allocation.host);
  const forMs = mayRunForMs(groupAt(view, allocation));
  const leftMs = forMs === null ? null : Math.max(0, forMs - cutOffMs);
  const fences = fencesOf(view, allocation);
  if (fences === null) return leftMs ?? 0;
  if (isRemoved === true || answers === 'all') return 0;
  if (isConfirmed(answers, fences, allocation.epoch.counter)) return 0;
  return fences.includes(SELF_FENCE) ? leftMs : null;
}

/** Must a fence still confirm that the allocation runs no more on its host, which is lost? */
export function awaitsFence(view: JobView, allocation: Allocation): boolean {
  return fencesOf(view, allocation) !== null && surelyOverInMs(view, allocation) !== 0;
}

/**
 * Does somebody answer for it that the allocation runs no more on its host, which is lost? A fence of its group, or who removed the
 * host; time alone does not, unless the group says that its host fences itself.
 */
export function isAnsweredFor(view: JobView, allocation: Allocation): boolean {
  if (view.hostCondition(allocation.host).isRemoved === true) return true;
  return fencesOf(view, allocation) !== null && surelyOverInMs(view, allocation) === 0;
}

/** As its job says now: whoever takes the word back need not wait. */
function fencesOf(view: JobView, allocation: Allocation): readonly string[] | null {
  const group = view.record.job.groups[allocation.group] ?? groupAt(view, allocation);
  return group?.fences ?? null;
}

/** The group as the allocation was started. */
function groupAt({ record, versions }: JobView, { jobVersion, group }: Allocation): Group | undefined {
  const job = jobVersion === record.version ? record.job : versions.get(jobVersion);
  return job?.groups[group];
}

/** How long it may run after its host lost contact to the cell; null: nothing bounds it. */
function mayRunForMs(group: Group | undefined): number | null {
  if (group?.stopAfterDisconnectMs === undefined) return null;
  const graces = Object.values(group.tasks).map(({ stop }) => stop.graceMs);
  return group.stopAfterDisconnectMs + Math.max(0, ...graces) + KILL_MS;
}
