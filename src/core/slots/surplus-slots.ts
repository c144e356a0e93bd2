import type { Outcome } from '../cell/allocation.ts';
import { SURPLUS_PRECEDENCE } from '../cell/claim.ts';
import type { Group } from '../cell/job.ts';
import { slotsMaxOf } from '../cell/job.ts';
import type { EvaluationDraft, Fill, JobView, LiveAllocation } from './job-view.ts';
import { CAUSES, earlier } from './job-view.ts';
import type { Slot } from './slot-table.ts';
import { nextOf, vacantInMs } from './slot-table.ts';

/** How often a group looks for more idle capacity. */
export const GROW_EVERY_MS = 5_000;
/** So long after an instance had to give way the group stays as it is: who needed the room may need more. */
const AFTER_EVICTION_MS = 5_000;

export interface SurplusState {
  readonly sameWork: (version: number) => boolean;
  /** All slots of the minimum have an allocation, or have ended. */
  readonly isFilled: boolean;
}

/**
 * What an elastic batch group has above its minimum: the slots from `count` up to `countMax`. Surplus comes and goes with the
 * target. It neither keeps the job from ending as complete nor makes it fail, and when an instance has completed, there is no
 * more work to give out: the group grows no further.
 */
export function evaluateSurplus(
  view: JobView,
  group: Group,
  table: ReadonlyMap<number, Slot>,
  state: SurplusState,
  draft: EvaluationDraft,
): void {
  if (group.countMax === undefined || view.elasticTarget === undefined) return;
  const isStopped = ({ allocation }: LiveAllocation): boolean =>
    draft.stops.some((stop) => stop.allocation === allocation);
  const surplus = wantedFrom(table, group.count).filter((one) => !isStopped(one));
  const firm = surplus.filter(({ allocation }) => allocation.precedence !== SURPLUS_PRECEDENCE);
  for (const { allocation } of firm)
    draft.stops.push({ allocation, mode: 'remove', cause: CAUSES.scaledDown });
  const idle = surplus.filter((one) => !firm.includes(one));
  const wanted = Math.max(0, view.elasticTarget(group, wantedFrom(table, 0).length) - group.count);
  for (const { allocation } of idle.slice(wanted))
    draft.stops.push({ allocation, mode: 'remove', cause: CAUSES.scaledDown });
  if (draft.failed || isEnding(view, group, state)) return;
  if (idle.length < slotsMaxOf(group) - group.count)
    draft.nextAtMs = earlier(draft.nextAtMs, view.nowMs + GROW_EVERY_MS);
  if (!state.isFilled || hasGivenWay(view, group, table)) return;
  grow(view, group, table, { ...state, room: wanted - idle.length }, draft);
}

/** Vacant slots, the lowest first. One that has failed for good is not tried again, and no other takes its part. */
function grow(
  view: JobView,
  group: Group,
  table: ReadonlyMap<number, Slot>,
  { sameWork, room }: SurplusState & { readonly room: number },
  draft: EvaluationDraft,
): void {
  let left = room;
  for (let index = group.count; index < slotsMaxOf(group) && left > 0; index++) {
    const slot = table.get(index);
    if (slot !== undefined && vacantInMs(view, slot) !== 0) continue;
    const next = nextOf(view, group, index, slot, { runsForEver: false, waitingSinceMs: 0, sameWork });
    left -= 1;
    if (next.kind !== 'fill') continue;
    const fill: Fill = { ...next.fill, surplus: true };
    if (fill.notBeforeMs <= view.nowMs) draft.grows.push(fill);
    else draft.nextAtMs = earlier(draft.nextAtMs, fill.notBeforeMs);
  }
}

/** What is to run in slots from the index on, the lowest first. */
function wantedFrom(table: ReadonlyMap<number, Slot>, from: number): readonly LiveAllocation[] {
  return [...table]
    .filter(([index]) => index >= from)
    .sort(([a], [b]) => a - b)
    .flatMap(([, { live }]) => live.filter(({ allocation }) => allocation.desired === 'run').slice(0, 1));
}

function isEnding({ outcomes }: JobView, { name }: Group, { sameWork }: SurplusState): boolean {
  return outcomes.some((one) => one.group === name && one.state === 'complete' && sameWork(one.jobVersion));
}

function hasGivenWay(view: JobView, group: Group, table: ReadonlyMap<number, Slot>): boolean {
  for (const [index, { live }] of table)
    if (index >= group.count && live.some(({ allocation }) => allocation.desired === 'evict')) return true;
  const wasEvicted = ({ group: name, index, cause, endedAtMs }: Outcome): boolean =>
    name === group.name &&
    index >= group.count &&
    cause?.startsWith(CAUSES.evicted) === true &&
    Math.abs(view.nowMs - endedAtMs) < AFTER_EVICTION_MS;
  return view.outcomes.some(wasEvicted);
}
