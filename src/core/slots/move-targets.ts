import type { Group } from '../cell/job.ts';
import type { JobView } from './job-view.ts';
import { CAUSES } from './job-view.ts';

/** Where the slot of an allocation that was moved is filled again, if that can be; null: it was not moved. */
export function moveTargetOf(
  { record }: JobView,
  last: { readonly allocation: string; readonly cause?: string } | undefined,
): { readonly to?: string } | null {
  if (last?.cause?.startsWith(CAUSES.moved) !== true) return null;
  const to = record.moves?.find(({ allocation }) => allocation === last.allocation)?.to;
  return to === undefined ? {} : { to };
}

/** Hosts that moves of the group still need: what an update or a move starts beside the others takes no room there. */
export function awaitedTargets({ record, live, nowMs }: JobView, group: Group): readonly string[] {
  if (record.moves === undefined) return NO_HOSTS;
  const ids = new Set(
    live.filter(({ allocation }) => allocation.group === group.name).map(({ allocation }) => allocation.id),
  );
  return record.moves.flatMap(({ allocation, to, untilMs }) =>
    to !== undefined && nowMs < untilMs && ids.has(allocation) ? [to] : [],
  );
}

const NO_HOSTS: readonly string[] = Object.freeze([]);
