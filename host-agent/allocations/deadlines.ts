import type { Clock } from '../../src/ports/clock.ts';
import type { Launch } from '../../src/wire/api/host-api.ts';
import type { StopReason, StopReasonRecord } from '../../src/wire/host-files/host-files.ts';
import type { ExitRecord, ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';
import type { TaskRun } from '../tasks/tasks.ts';
import type { CellContact } from './cell-contact.ts';

/**
 * When an allocation is stopped whatever else happens: it has run for its longest time, or its host is cut off. The agent
 * keeps both, and each shim too, for when there is no agent.
 */
export interface Deadline {
  readonly why: Extract<StopReason, 'deadline' | 'disconnected'>;
  readonly inMs: number;
}

/** @param startedAtMs of its first task, wall clock; null: none has begun to run. @returns the nearest; null: none */
export function deadlineOf(
  launch: Launch,
  startedAtMs: number | null,
  contact: CellContact,
  clock: Clock,
): Deadline | null {
  if (startedAtMs === null) return null;
  const runMs = runLeftMs(launch, startedAtMs, clock);
  const cutOffMs = cutOffLeftMs(launch, contact, clock);
  if (cutOffMs !== null && (runMs === null || cutOffMs < runMs))
    return { why: 'disconnected', inMs: cutOffMs };
  return runMs === null ? null : { why: 'deadline', inMs: runMs };
}

/** The same for the shim of an attempt that is about to begin. */
export function shimDeadlines(
  launch: Launch,
  startedAtMs: number | null,
  contact: CellContact,
  clock: Clock,
): Pick<ShimLaunch, 'runMaxMs' | 'stopAfterDisconnectMs'> {
  const { deadlineMs, stopAfterDisconnectMs } = launch;
  const runMs = startedAtMs === null ? deadlineMs : runLeftMs(launch, startedAtMs, clock);
  const cutOffMs = cutOffLeftMs(launch, contact, clock) ?? stopAfterDisconnectMs;
  return {
    ...(runMs === null ? {} : { runMaxMs: Math.max(1, runMs) }),
    ...(cutOffMs === undefined ? {} : { stopAfterDisconnectMs: Math.max(1, cutOffMs) }),
  };
}

/** What a shim stopped its task for, in the agent's words. */
export const STOP_REASON_OF: Readonly<Record<NonNullable<ExitRecord['stoppedBy']>, Deadline['why']>> = {
  'run-max': 'deadline',
  disconnect: 'disconnected',
};

function runLeftMs({ deadlineMs }: Launch, startedAtMs: number, clock: Clock): number | null {
  return deadlineMs === null ? null : Math.max(0, Math.ceil(startedAtMs + deadlineMs - clock.nowMs()));
}

function cutOffLeftMs({ stopAfterDisconnectMs }: Launch, contact: CellContact, clock: Clock): number | null {
  return stopAfterDisconnectMs === undefined
    ? null
    : contact.leftOf(stopAfterDisconnectMs, clock.monotonicMs());
}

/** Orders from outside; what this host ends by itself does not wait. */
const LINGERS: readonly StopReason[] = ['user', 'evicted', 'drain'];

/**
 * @param order when it was given, wall clock
 * @returns 0 when something of it runs no more: requests fail then in any case
 */
export function lingerMs(
  { given, isKill }: { readonly given: StopReasonRecord; readonly isKill: boolean },
  delayMs: number,
  tasks: readonly Pick<TaskRun, 'started' | 'exit' | 'done'>[],
  nowMs: number,
): number {
  if (isKill || !LINGERS.includes(given.why)) return 0;
  if (tasks.some(({ started, exit, done }) => !started || exit !== null || done)) return 0;
  return Math.min(delayMs, Math.max(0, Math.ceil(given.atMs + delayMs - nowMs)));
}
