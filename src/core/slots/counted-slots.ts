import type { Group } from '../cell/job.ts';
import type { Slot } from './slot-table.ts';
import { nextOf, sameWorkAs, slotTable, vacantInMs } from './slot-table.ts';
import { misplacedOf } from './misplaced.ts';
import type { Fill, JobView, LiveAllocation, Stop, EvaluationDraft } from './job-view.ts';
import { CAUSES, earlier, isOfBrokenGang } from './job-view.ts';

/**
 * The rules of a group with `count` slots. A service keeps all of them filled; a batch job brings each to completion
 * once, at most `parallelism` at a time.
 */
export function evaluateCounted(view: JobView, group: Group, draft: EvaluationDraft): void {
  const table = slotTable(view, group.name);
  const sameWork = sameWorkAs(view, group);
  const runsForEver = view.record.job.type !== 'batch';
  scaleDown(table, group, draft);
  if (group.gang) breakUp(group, table, draft);
  const vacant: { index: number; slot: Slot | undefined }[] = [];
  let busy = 0;
  let leaving = false;
  let steady = true;
  for (let index = 0; index < group.count; index++) {
    const slot = table.get(index);
    const inMs = slot === undefined ? 0 : vacantInMs(view, slot);
    if (slot !== undefined && inMs !== 0) {
      if (inMs !== null) draft.nextAtMs = earlier(draft.nextAtMs, view.nowMs + inMs);
      busy += 1;
      draft.open = true;
      leaving ||= slot.live.every(({ allocation }) => allocation.desired !== 'run');
      steady &&= slot.live.some((live) => live.allocation.desired === 'run' && isRunning(live));
    } else {
      vacant.push({ index, slot });
    }
  }
  const waitingSinceMs = group.parallelism === null ? 0 : lastEndMs(view, group);
  const wanted: Fill[] = [];
  for (const { index, slot } of vacant) {
    const next = nextOf(view, group, index, slot, { runsForEver, waitingSinceMs, sameWork });
    if (next.kind === 'failed') draft.failed = true;
    if (next.kind === 'fill') wanted.push(next.fill);
  }
  steady &&= wanted.length === 0;
  if (wanted.length > 0) draft.open = true;
  const room = group.parallelism === null ? wanted.length : Math.max(0, group.parallelism - busy);
  const fills = group.gang ? together(wanted, leaving) : dueFirst(wanted, view.nowMs).slice(0, room);
  for (const fill of fills) offer(view, group, fill, draft);
  replaceDisplaced(view, group, table, { sameWork, steady, runsForEver }, draft);
}

/**
 * Members of a gang are placed in one commit and wait together: since the latest of them began to wait, and until those
 * that are stopping are gone, or a part would be placed without the rest (I6).
 */
function together(fills: readonly Fill[], leaving: boolean): readonly Fill[] {
  if (leaving) return [];
  const sinceMs = Math.max(...fills.map((fill) => fill.sinceMs));
  return fills.map((fill) => ({ ...fill, sinceMs }));
}

/** When one member of a gang is stopped to place the gang again, all are: the gang begins again as a whole. */
function breakUp(group: Group, table: ReadonlyMap<number, Slot>, draft: EvaluationDraft): void {
  const members = [...table].filter(([index]) => index < group.count).map(([, slot]) => slot.live);
  const broken = members.find(
    (live) =>
      live.every(({ allocation }) => allocation.desired !== 'run') &&
      live.some(({ allocation }) => isOfBrokenGang(allocation)),
  );
  const cause = broken?.find(({ allocation }) => isOfBrokenGang(allocation))?.allocation.cause;
  if (cause === undefined) return;
  for (const live of members)
    for (const { allocation } of live)
      if (allocation.desired === 'run') draft.stops.push({ allocation, mode: 'stop', cause });
}

/** Slots that wait for their delay come after those that can be filled now. */
function dueFirst(fills: readonly Fill[], nowMs: number): readonly Fill[] {
  if (fills.every((fill) => fill.notBeforeMs <= nowMs)) return fills;
  return [...fills].sort((a, b) => Math.max(a.notBeforeMs, nowMs) - Math.max(b.notBeforeMs, nowMs));
}

/** Adds an open slot to the draft: as a fill, or as unplaceable when it has waited too long. */
export function offer(view: JobView, group: Group, fill: Fill, draft: EvaluationDraft): void {
  const lateAtMs = group.waitMaxMs === null ? null : fill.sinceMs + group.waitMaxMs;
  if (lateAtMs !== null && view.nowMs >= lateAtMs) {
    draft.unplaceable.push(fill);
    return;
  }
  draft.fills.push(fill);
  draft.nextAtMs = earlier(draft.nextAtMs, fill.notBeforeMs > view.nowMs ? fill.notBeforeMs : lateAtMs);
}

/** Slots beyond `count` are removed with their records; their last allocations leave no history (S1.17). */
function scaleDown(table: ReadonlyMap<number, Slot>, group: Group, draft: EvaluationDraft): void {
  for (const [index, slot] of table) {
    if (index < group.count) continue;
    for (const { allocation } of slot.live) {
      if (allocation.desired === 'run')
        draft.stops.push({ allocation, mode: 'remove', cause: CAUSES.scaledDown });
    }
  }
}

/**
 * Stops allocations of an old version, on a lost host, on one where the group may no longer run, or on a draining one. One on a lost host is replaced at once. The
 * others of a service are stopped one at a time, the next only when all slots run: a version that does not start stops
 * its own roll-out (S3.24). An allocation that does not run is stopped at once.
 */
export function replaceDisplaced(
  view: JobView,
  group: Group,
  table: ReadonlyMap<number, Slot>,
  state: {
    readonly sameWork: (version: number) => boolean;
    readonly steady: boolean;
    readonly runsForEver: boolean;
  },
  draft: EvaluationDraft,
): void {
  if (table.size === 0) return;
  const misplaced = view.record.job.type === 'system' ? NONE : misplacedOf(view, group);
  let turn = state.steady;
  for (const [index, slot] of [...table].sort((a, b) => a[0] - b[0])) {
    if (view.record.job.type !== 'system' && index >= group.count) continue;
    for (const live of slot.live) {
      const why = displacedBy(view, group, live, { ...state, misplaced }, draft);
      if (why === null) continue;
      const goesNow = why.atOnce || !state.runsForEver || !isRunning(live);
      if (!goesNow && !turn) continue;
      if (!goesNow) turn = false;
      draft.stops.push(why.stop);
    }
  }
}

function displacedBy(
  view: JobView,
  group: Group,
  live: LiveAllocation,
  state: {
    readonly sameWork: (version: number) => boolean;
    readonly runsForEver: boolean;
    readonly misplaced: ReadonlySet<string>;
  },
  draft: EvaluationDraft,
): { readonly stop: Stop; readonly atOnce: boolean } | null {
  const { allocation } = live;
  if (allocation.desired !== 'run') return null;
  const condition = view.hostCondition(allocation.host);
  if (condition.state === 'lost') {
    // Without the policy it stays, and is shown as lost (S0.1).
    if (!group.reschedule.onHostLost || view.record.job.type === 'system') return null;
    return { stop: { allocation, mode: 'stop', cause: CAUSES.hostLost }, atOnce: true };
  }
  if (!state.sameWork(allocation.jobVersion)) {
    const cause = `${CAUSES.version} ${String(view.record.version)}`;
    return { stop: { allocation, mode: 'stop', cause }, atOnce: false };
  }
  if (state.misplaced.has(allocation.id))
    return { stop: { allocation, mode: 'stop', cause: CAUSES.notMatching }, atOnce: false };
  if (condition.state !== 'draining') return null;
  const late = condition.drainDeadlineMs !== null && view.nowMs >= condition.drainDeadlineMs;
  const stop: Stop = { allocation, mode: 'stop', cause: CAUSES.draining };
  if (late) return { stop, atOnce: true };
  draft.nextAtMs = earlier(draft.nextAtMs, condition.drainDeadlineMs);
  // A batch task may end by itself before the deadline; a service never does.
  return state.runsForEver ? { stop, atOnce: false } : null;
}

export function isRunning(live: LiveAllocation): boolean {
  return live.report?.state === 'running';
}

/** System jobs leave hosts that no longer match by themselves (`system-slots.ts`). */
const NONE: ReadonlySet<string> = new Set();

function lastEndMs(view: JobView, group: Group): number {
  let last = 0;
  for (const outcome of view.outcomes)
    if (outcome.group === group.name) last = Math.max(last, outcome.endedAtMs);
  return last;
}
