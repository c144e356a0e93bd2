import type { Allocation } from '../cell/allocation.ts';
import type { Group, Move } from '../cell/job.ts';
import type { EvaluationDraft, JobView } from './job-view.ts';
import { CAUSES, earlier } from './job-view.ts';
import { whyFixed } from './movable.ts';
import { isWatched } from './rollout.ts';

/** How soon a host that has no room for a move is looked at again. */
const NO_ROOM_MS = 2_000;

/**
 * What somebody asked for about the allocation, and may be done now: nothing of a group that its policy or a pause keeps where
 * it is, nothing while an update is under way, and not to a host that would not take it.
 * @returns null: it stays, now
 */
export function moveOf(
  view: JobView,
  group: Group,
  allocation: Allocation,
  draft: EvaluationDraft,
): Move | null {
  const { moves = [], job } = view.record;
  const move = moves.find((one) => one.allocation === allocation.id);
  if (move === undefined || view.nowMs >= move.untilMs) return null;
  if (view.isPaused?.() === true || isWatched(view) || whyFixed(job, group) !== null) return null;
  draft.nextAtMs = earlier(draft.nextAtMs, move.untilMs);
  if (move.to === undefined || view.takes?.(group, move.to, allocation.id) !== false) return move;
  draft.nextAtMs = earlier(draft.nextAtMs, view.nowMs + NO_ROOM_MS);
  return null;
}

export function causeOfMove({ by, reason }: Move): string {
  return `${CAUSES.moved} by ${by}${reason === '' ? '' : `: ${reason}`}`;
}
