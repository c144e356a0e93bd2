import type { Group, ReturnPolicy } from '../cell/job.ts';
import { DEFAULT_ON_RETURN, slotsMaxOf } from '../cell/job.ts';
import type { EvaluationDraft, JobView, LiveAllocation } from './job-view.ts';
import { CAUSES, earlier } from './job-view.ts';
import type { Slot } from './slot-table.ts';

/** How soon a returned host is asked for again that has not reported yet. */
const UNHEARD_MS = 500;

/** May what a lost host held be kept when it is back, instead of what took its place? */
export function keepsReturned({ reschedule, fences }: Group): boolean {
  // What a fence has ended does not return.
  if (fences !== undefined) return false;
  return reschedule.onHostLost && (reschedule.onReturn ?? DEFAULT_ON_RETURN) !== 'newest';
}

/**
 * A lost host's allocation that may be kept on return does not block its slot, and is not told to stop: it is set aside. When
 * its host is back, both run, and one of them is stopped: only when both hosts report, so that what is kept is known to run.
 * One owner decides, under its owner key, so no two can remove both.
 */
export function settleDuplicates(
  view: JobView,
  group: Group,
  table: ReadonlyMap<number, Slot>,
  sameWork: (version: number) => boolean,
  draft: EvaluationDraft,
): void {
  for (const [index, slot] of table) {
    if (index >= slotsMaxOf(group)) continue;
    if (keepsReturned(group)) setAside(view, slot, sameWork);
    const wanted = slot.live.filter(
      ({ allocation }) => allocation.desired === 'run' && !isLost(view, allocation.host),
    );
    if (wanted.length < 2) continue;
    if (
      wanted.some((one) => one.isUnverified === true || view.isReporting?.(one.allocation.host) === false)
    ) {
      draft.nextAtMs = earlier(draft.nextAtMs, view.nowMs + UNHEARD_MS);
      moveAside(slot, wanted.slice(0, -1));
      continue;
    }
    const kept = keptOf(slot, wanted, group.reschedule.onReturn ?? DEFAULT_ON_RETURN, sameWork);
    // One whose commit is under way, or that has not begun, is no reason to stop another.
    if (kept.report?.state !== 'running') continue;
    const others = wanted.filter((one) => one !== kept);
    for (const one of others) {
      const { allocation } = one;
      draft.stops.push({ allocation, mode: 'stop', cause: duplicateOf(kept.allocation.id) });
      slot.live[slot.live.indexOf(one)] = { ...one, allocation: { ...allocation, desired: 'stop' } };
    }
  }
}

function isLost(view: JobView, host: string): boolean {
  return view.hostCondition(host).state === 'lost';
}

/** What would not run the same by now is not kept: it stays in its slot, and is told to stop. */
function setAside(view: JobView, slot: Slot, sameWork: (version: number) => boolean): void {
  const away = slot.live.filter(
    ({ allocation: { desired, host, jobVersion } }) =>
      desired === 'run' && isLost(view, host) && sameWork(jobVersion),
  );
  moveAside(slot, away);
}

function moveAside({ live, aside }: Slot, some: readonly LiveAllocation[]): void {
  for (const one of some) {
    live.splice(live.indexOf(one), 1);
    aside.push(one);
  }
}

/** Of those that run; of the present version, if one is. */
function keptOf(
  slot: Slot,
  wanted: readonly LiveAllocation[],
  policy: ReturnPolicy,
  sameWork: (version: number) => boolean,
): LiveAllocation {
  const running = orAll(wanted, ({ report }) => report?.state === 'running');
  const best = orAll(running, ({ allocation }) => sameWork(allocation.jobVersion));
  const byAge = [...best].sort((a, b) => a.allocation.attempt - b.allocation.attempt);
  const [oldest, newest] = [byAge[0], byAge.at(-1)];
  if (oldest === undefined || newest === undefined) throw new Error('of no allocations none is kept');
  switch (policy) {
    case 'newest':
      return newest;
    case 'oldest':
      return oldest;
    case 'original':
      return best.find((one) => !replacesAny(one, slot)) ?? newest;
    case 'longest-running':
      return byAge.reduce((a, b) => (sinceMs(b) < sinceMs(a) ? b : a));
  }
}

/** Did it take the place of one that is still there, here or on a lost host? */
function replacesAny({ allocation }: LiveAllocation, { live, aside }: Slot): boolean {
  return [...live, ...aside].some((other) => other.allocation.id === allocation.replaces);
}

/** Since when all of its tasks have run without a restart, by the host's clock. */
function sinceMs({ report }: LiveAllocation): number {
  return Math.max(0, ...Object.values(report?.tasks ?? {}).map(({ startedAtMs = 0 }) => startedAtMs));
}

/** Those for which it holds; all when it holds for none. */
function orAll<T>(some: readonly T[], holds: (one: T) => boolean): readonly T[] {
  const chosen = some.filter(holds);
  return chosen.length === 0 ? some : chosen;
}

/** Why a duplicate is stopped. @param kept the id of the one that stays */
function duplicateOf(kept: string): string {
  return `${CAUSES.duplicate} ${kept}`;
}

/** The id of the one that stays, of the cause why a duplicate is stopped; null: that is not why. */
export function duplicatedBy(cause: string | undefined): string | null {
  return cause?.startsWith(CAUSES.duplicate) === true ? cause.slice(CAUSES.duplicate.length + 1) : null;
}
