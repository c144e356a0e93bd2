import { slotName } from '../cell/ids.ts';
import type { Group } from '../cell/job.ts';
import type { Exit } from '../cell/allocation.ts';
import type { AllocationReport } from '../host/report.ts';
import { isTerminal } from '../host/states.ts';
import type { EvaluationDraft, JobView, LiveAllocation } from './job-view.ts';
import { earlier } from './job-view.ts';
import { surgeOf, surgeOfMove, updatePolicyOf } from './update-policy.ts';
import type { Slot } from './slot-table.ts';

/** How long an allocation must run without a restart until it counts as up, unless its group says otherwise. */
export const MIN_HEALTHY_MS = 10_000;

/**
 * Do all of its tasks run now, and pass their health checks? One that waits for its restart has an exit and is not at its end.
 */
export function isUp({ state, tasks }: AllocationReport): boolean {
  if (state !== 'running') return false;
  return Object.values(tasks).every(
    (task) =>
      isTerminal(task.state) || (task.state === 'running' && task.exit === undefined && task.ready !== false),
  );
}

/** Does it pass its health checks? Null: it has none, or does not run. */
export function readyOf({ state, tasks }: AllocationReport): boolean | null {
  const checked = Object.values(tasks).filter((task) => task.ready !== undefined);
  return state !== 'running' || checked.length === 0 ? null : checked.every((task) => task.ready === true);
}

/** Why one has ended that still has its place on its host, for people; null: it is no such one. */
export function endedInPlace({ state, released, reason }: AllocationReport): string | null {
  return isTerminal(state) && !released ? reason : null;
}

/** Which health check keeps it from being ready, and what it found, for people; null: none does. */
export function notReadyOf({ state, tasks }: AllocationReport): string | null {
  if (state !== 'running') return null;
  for (const { ready, checks = {} } of Object.values(tasks)) {
    if (ready !== false) continue;
    for (const [name, check] of Object.entries(checks))
      if (check.state !== 'passing')
        return check.state === 'failing'
          ? `check ${name}: ${check.detail}`
          : `check ${name} has not passed yet`;
  }
  return null;
}

/** How long it must still run without a restart until it counts as up; null: it does not run now. */
export function unprovenMs(view: JobView, group: Group, live: LiveAllocation): number | null {
  if (live.report === null || !isUp(live.report)) return null;
  return Math.max(0, (group.minHealthyMs ?? MIN_HEALTHY_MS) - view.upForMs(live));
}

/**
 * Is an update under way, as far as is recorded, or is it to be seen that all is up? The first version of a job is watched only
 * when a later one may have to be undone.
 */
export function isWatched({ record, rollout }: JobView): boolean {
  const { job, version, desired } = record;
  if (job.type === 'batch' || desired !== 'run') return false;
  if (rollout?.version === version && rollout.state === 'done') return false;
  return version > 1 || Object.values(job.groups).some(({ update }) => update?.autoRevert === true);
}

/** Whether something may be stopped for the newer version. `why`: not, for people; null: it may. */
export interface Gate {
  readonly why: string | null;
  readonly failed: boolean;
}

/** What an update of a group looks at. */
export interface GroupUpdate {
  readonly holds: readonly { readonly index: number }[];
  readonly table: ReadonlyMap<number, Slot>;
  readonly sameWork: (version: number) => boolean;
  /** Still to be replaced. */
  readonly outdated: number;
  /** Why the first slot that is not up is not. */
  readonly held: string | null;
  /** Which one is on a host of which nothing is heard, and stays there; null: none. */
  readonly away: string | null;
  /** Why some that are to be replaced stay, by an operator's word; `isWhole`: all of them do. */
  readonly paused: string | null;
  readonly isWhole: boolean;
}

export function gateOf(view: JobView, group: Group, update: GroupUpdate, draft: EvaluationDraft): Gate {
  const { record } = view;
  const { outdated, held } = update;
  if (!isWatched(view) || (outdated === 0 && held === null)) return { why: null, failed: false };
  if (record.rollout?.paused === true && outdated > 0)
    return { why: `paused; go on with: moorage rollout resume ${record.job.name}`, failed: false };
  if (update.paused !== null && update.isWhole) return { why: update.paused, failed: false };
  const failure = failureIn(view, group, update, draft);
  if (failure !== null) return { why: failure, failed: true };
  const { canary, autoPromote } = updatePolicyOf(group);
  if (canary === 0 || outdated === 0 || isPromoted(view)) return { why: null, failed: false };
  const waits = update.holds.some(({ index }) => index >= group.count);
  if (waits) return { why: held, failed: false };
  if (autoPromote) return { why: null, failed: false };
  const name = record.job.name;
  const up = canary === 1 ? 'the canary is up' : `${String(canary)} canaries are up`;
  return { why: `${up}; go on with: moorage rollout promote ${name}`, failed: false };
}

function isPromoted({ record }: JobView): boolean {
  return record.rollout?.promoted === true;
}

/** How an update went wrong, for people; null: it has not. */
function failureIn(view: JobView, group: Group, update: GroupUpdate, draft: EvaluationDraft): string | null {
  const { version, job, submittedAtMs, rollout } = view.record;
  const policy = updatePolicyOf(group);
  let progressMs = Math.max(submittedAtMs, rollout?.atMs ?? 0, view.rolloutPause?.endedAtMs ?? 0);
  for (const [index, { live, history }] of update.table) {
    const now = live.find(({ allocation }) => allocation.desired === 'run');
    if (now !== undefined && unprovenMs(view, group, now) === 0) continue;
    const last = history.at(-1);
    if (last?.jobVersion === version && last.state === 'failed' && last.cause === undefined)
      return `${slotName(job.name, group.name, index)} failed: ${last.reason}`;
    if (now?.allocation.jobVersion !== version) continue;
    const lateAtMs = now.allocation.createdAtMs + policy.healthyDeadlineMs;
    if (view.nowMs >= lateAtMs)
      return `not up within ${seconds(policy.healthyDeadlineMs)}: ${holdOf(view, group, now)}`;
    draft.nextAtMs = earlier(draft.nextAtMs, lateAtMs);
  }
  for (const { allocation } of view.live)
    if (allocation.jobVersion === version && allocation.group === group.name)
      progressMs = Math.max(progressMs, allocation.createdAtMs);
  // What waits for a person makes no progress by itself, nor does what is paused on some hosts.
  const waitsForPromotion =
    policy.canary > 0 && !isPromoted(view) && !policy.autoPromote && update.held === null;
  if (waitsForPromotion || update.paused !== null) return null;
  const lateAtMs = progressMs + policy.progressDeadlineMs;
  if (view.nowMs >= lateAtMs)
    return `nothing came of it for ${seconds(policy.progressDeadlineMs)}: ${update.held ?? update.away ?? 'nothing was replaced'}`;
  draft.nextAtMs = earlier(draft.nextAtMs, lateAtMs);
  return null;
}

/**
 * How many slots beyond `count` the group has now: as many as its update wants while something is to be replaced, and then as many
 * as stand in for what is not up yet.
 */
export function surgeIn(
  view: JobView,
  group: Group,
  table: ReadonlyMap<number, Slot>,
  displaced: ReadonlyMap<
    string,
    { readonly byVersion: boolean; readonly byMove?: true; readonly live: LiveAllocation }
  >,
): number {
  const { autoPromote } = updatePolicyOf(group);
  const moveWants = surgeOfMove(group);
  const wanted = surgeOf(group, isPromoted(view) || autoPromote);
  const most = Math.max(wanted, moveWants);
  if (most === 0) return 0;
  let there = 0;
  for (const [index, { live }] of table)
    if (live.some(({ allocation }) => allocation.desired === 'run'))
      there = Math.max(there, index + 1 - group.count);
  const outdated = [...displaced.values()].filter((one) => one.byVersion);
  const isPaused =
    view.record.rollout?.paused === true ||
    outdated.every(({ live }) => (view.rolloutPause?.on(live.allocation.host) ?? null) !== null);
  if (outdated.length > 0) return isPaused ? Math.min(wanted, there) : wanted;
  if ([...displaced.values()].some((one) => one.byMove === true)) return Math.max(moveWants, there);
  return Math.min(most, standInsIn(view, group, table, there));
}

/**
 * How many slots beyond `count` still stand in for those of `count` that are not up: as many as it takes until as many of them
 * are up. The others leave, since what is still to be placed may need their room.
 * @param there how many slots beyond `count` have something now
 */
function standInsIn(view: JobView, group: Group, table: ReadonlyMap<number, Slot>, there: number): number {
  let missing = 0;
  for (let index = 0; index < group.count; index++)
    if (!isFilled(view, group, table.get(index))) missing += 1;
  let needed = 0;
  for (; missing > 0 && needed < there; needed++)
    if (isFilled(view, group, table.get(group.count + needed))) missing -= 1;
  return needed;
}

function isFilled(view: JobView, group: Group, slot: Slot | undefined): boolean {
  return (
    slot?.live.some((live) => live.allocation.desired === 'run' && unprovenMs(view, group, live) === 0) ??
    false
  );
}

/** Why the roll-out does not go on before the allocation counts as up. */
export function holdOf(view: JobView, group: Group, live: LiveAllocation): string {
  const { allocation, report } = live;
  const name = slotName(allocation.job, allocation.group, allocation.index);
  const needed = `${seconds(group.minHealthyMs ?? MIN_HEALTHY_MS)} without a restart`;
  if (report === null) return `${name} is not reported yet`;
  const notReady = notReadyOf(report);
  if (notReady !== null) return `${name} is not ready: ${notReady}`;
  if (report.restarts > 0) {
    const exit = Object.values(report.tasks).find((task) => task.exit !== undefined)?.exit;
    const last = exit === undefined ? '' : `, the last time after ${exitOf(exit)}`;
    const times = report.restarts === 1 ? 'once' : `${String(report.restarts)} times`;
    return `${name} was restarted ${times}${last}; it must run for ${needed}`;
  }
  if (!isUp(report)) return `${name} is ${report.state}${report.reason === '' ? '' : `: ${report.reason}`}`;
  return `${name} has run for ${seconds(view.upForMs(live))} and must run for ${needed}`;
}

/** The same for one on a host of which nothing is heard. */
export function holdOfUnreachable({ allocation: { job, group, index, host } }: LiveAllocation): string {
  return `${slotName(job, group, index)} is on ${host}, of which nothing is heard`;
}

/** The same for a slot without an allocation that may stay. */
export function holdOfVacant(
  view: JobView,
  group: Group,
  index: number,
  slot: Slot | undefined,
  sameWork: (version: number) => boolean,
): string {
  const name = slotName(view.record.job.name, group.name, index);
  if (slot !== undefined && slot.live.length > 0) return `${name} is being stopped`;
  const last = slot?.history.findLast(
    (outcome) => sameWork(outcome.jobVersion) && outcome.cause === undefined,
  );
  if (last === undefined) return `${name} waits for a place`;
  return `${name} ${last.state}: ${last.reason}`;
}

function exitOf({ code, signal, lost, unhealthy }: Exit): string {
  if (unhealthy !== undefined) return `it was not alive: ${unhealthy}`;
  if (code !== undefined) return `exit code ${String(code)}`;
  return signal ?? `its end was lost: ${lost ?? 'unknown'}`;
}

function seconds(ms: number): string {
  return `${String(Math.floor(ms / 1_000))} s`;
}
