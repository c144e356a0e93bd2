import type { Exit } from '../../src/core/cell/allocation.ts';
import type { Task } from '../../src/core/cell/job.ts';
import type { ObservedState } from '../../src/core/host/states.ts';
import type { StopReasonRecord } from '../../src/wire/host-files/host-files.ts';
import { formatMib } from '../../src/wire/values/units.ts';
import { STOP_REASON_OF } from './deadlines.ts';
import type { TaskRun } from '../tasks/tasks.ts';
import { exitOf } from '../tasks/tasks.ts';

export interface Ending {
  readonly state: ObservedState;
  readonly reason: string;
  readonly exit?: Exit;
}

const ERRNO_TEXT: Readonly<Record<number, string>> = {
  2: 'not found',
  7: 'arguments too long',
  8: 'not a program',
  11: 'the system is out of processes',
  12: 'out of memory',
  13: 'not permitted',
  20: 'not found',
};

/** How an allocation ended, all of whose tasks are done. Sidecars do not decide it. */
export function endingOf(tasks: readonly TaskRun[], stopReason: StopReasonRecord | null): Ending {
  const mains = mainsOf(tasks);
  const failed = mains.find((run) => !run.succeeded && !run.stopped) ?? mains.find((run) => !run.succeeded);
  const record = (failed ?? mains[0])?.exit ?? null;
  const exit = record === null ? {} : { exit: exitOf(record) };
  const lost = mains.find((run) => run.exit?.lost === 'host-reboot');
  if (lost !== undefined) return { state: 'lost', reason: 'host-reboot', exit: { lost: 'host-reboot' } };
  // A stop reason by which no task was stopped came too late to be the cause.
  if (stopReason !== null && (failed !== undefined || mains.some((run) => run.stopped)))
    return { state: STATE_OF[stopReason.why], reason: stopReason.cause, ...exit };
  if (failed === undefined) return { state: 'complete', reason: 'done', ...exit };
  const gone = record?.lost === 'shim-died';
  return { state: gone ? 'lost' : 'failed', reason: failureOf(failed), ...exit };
}

/** The tasks that decide when and how it ends: all of them, when the group has nothing but sidecars. */
export function mainsOf(tasks: readonly TaskRun[]): readonly TaskRun[] {
  const mains = tasks.filter((run) => !run.task.sidecar);
  return mains.length > 0 ? mains : tasks;
}

const STATE_OF: Readonly<Record<StopReasonRecord['why'], ObservedState>> = {
  user: 'killed',
  evicted: 'killed',
  drain: 'killed',
  deadline: 'failed',
  disconnected: 'failed',
  'task-failed': 'failed',
  'memory-pressure': 'failed',
  disk: 'failed',
};

/** One line that names the task, for people. */
export function failureOf(run: TaskRun): string {
  const exit = run.exit;
  const name = `task ${run.task.name}`;
  if (exit === null) return `${name} did not run`;
  if (exit.execErrno !== undefined) {
    if (exit.by === 'agent') return `${name} cannot be started: ${exit.execStep ?? ''}`;
    const command = JSON.stringify((run.task.command[0] ?? '').slice(0, COMMAND_CHARS_MAX));
    return `${name}: cannot run ${command}: ${ERRNO_TEXT[exit.execErrno] ?? `error ${String(exit.execErrno)}`}`;
  }
  if (exit.stoppedBy !== undefined) return STOP_REASON_OF[exit.stoppedBy];
  if (exit.lost !== undefined) return `${name}: ${exit.lost}`;
  if (exit.unhealthy !== undefined) return `${name} was not alive: ${exit.unhealthy} (${run.why})`;
  const how =
    exit.signal === undefined ? `exited with code ${String(exit.code)}` : `was killed by ${exit.signal}`;
  const oom = (exit.oomKills ?? 0) > 0 ? `: out of memory, its limit is ${limitText(run.task)}` : '';
  return run.restarts > 0 ? `${name} ${how}${oom} (${run.why})` : `${name} ${how}${oom}`;
}

function limitText(task: Task): string {
  return formatMib(task.limits?.memoryMib ?? task.resources.memoryMib);
}

/** A command is shown, not copied: its name may be as long as an argument. */
const COMMAND_CHARS_MAX = 80;
