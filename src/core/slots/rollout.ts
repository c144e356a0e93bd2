import { slotName } from '../cell/ids.ts';
import type { Group } from '../cell/job.ts';
import type { Exit } from '../cell/allocation.ts';
import type { AllocationReport } from '../host/report.ts';
import type { JobView, LiveAllocation } from './job-view.ts';
import type { Slot } from './slot-table.ts';

/** How long an allocation must run without a restart until it counts as up, unless its group says otherwise. */
export const MIN_HEALTHY_MS = 10_000;

/**
 * Do all of its tasks run now, and pass their health checks? One that waits for its restart has an exit and is not at its end.
 */
export function isUp({ state, tasks }: AllocationReport): boolean {
  if (state !== 'running') return false;
  return Object.values(tasks).every(
    (task) => task.state !== 'running' || (task.exit === undefined && task.ready !== false),
  );
}

/** Does it pass its health checks? Null: it has none, or does not run. */
export function readyOf({ state, tasks }: AllocationReport): boolean | null {
  const checked = Object.values(tasks).filter((task) => task.ready !== undefined);
  return state !== 'running' || checked.length === 0 ? null : checked.every((task) => task.ready === true);
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
