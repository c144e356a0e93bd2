import type { ShimState } from '../../core/host/shim.ts';
import type { ProcessIdentity } from '../../ports/process.ts';
import type { ShimLaunch } from '../../wire/host-files/attempt-files.ts';

/** One task that only takes time. */
export interface HollowTask {
  readonly identity: ProcessIdentity;
  readonly launch: ShimLaunch;
  out: number;
  err: number;
  /** Cancels the timers of the task. */
  cancel: () => void;
  readonly signals: string[];
  readonly signalResults: Map<number, number>;
  lastSequence: number;
  stdinNext: number;
  stdinOpen: boolean;
  rows: number;
  columns: number;
  frozen: boolean;
  stopping: boolean;
  /** When it ends by itself. */
  readonly naturalEndAtMs: number | null;
  runEndsAtMs: number | null;
  disconnectAtMs: number | null;
}

export function hollowTask(identity: ProcessIdentity, launch: ShimLaunch, nowMs: number): HollowTask {
  const { pty, runMaxMs, stopAfterDisconnectMs } = launch;
  const runMs = Number(launch.env['HOLLOW_RUN_MS'] ?? 0);
  return {
    ...{ identity, launch, out: launch.outBase, err: launch.errBase, cancel: () => undefined },
    ...{ signals: [], signalResults: new Map<number, number>(), lastSequence: 0 },
    ...{ stdinNext: 0, stdinOpen: launch.stdin === 'open' || pty !== undefined },
    ...{ rows: pty?.rows ?? 0, columns: pty?.columns ?? 0, frozen: false, stopping: false },
    naturalEndAtMs: runMs > 0 ? nowMs + runMs : null,
    runEndsAtMs: runMaxMs === undefined ? null : nowMs + runMaxMs,
    disconnectAtMs: stopAfterDisconnectMs === undefined ? null : nowMs + stopAfterDisconnectMs,
  };
}

const VERSION = 2;

export function stateOf(task: HollowTask, nowMs: number): ShimState {
  const left = (atMs: number | null): number | null =>
    atMs === null ? null : Math.max(0, Math.ceil(atMs - nowMs));
  const { identity, stdinNext, stdinOpen, frozen, stopping, out, err, rows, columns } = task;
  return {
    ...{ version: VERSION, pid: identity.pid, job: identity.pid, jobStart: identity.start, done: false },
    ...{
      stdinOpen,
      pty: task.launch.pty !== undefined,
      frozen,
      stopping,
      stdinNext,
      out,
      err,
      rows,
      columns,
    },
    signalSequence: task.lastSequence,
    runLeftMs: left(task.runEndsAtMs),
    disconnectLeftMs: left(task.disconnectAtMs),
  };
}

/** The nearer of its deadlines. @returns null when it has none */
export function deadlineOf(task: HollowTask): { atMs: number; why: 'run-max' | 'disconnect' } | null {
  const { runEndsAtMs: run, disconnectAtMs: disconnect } = task;
  if (run !== null && (disconnect === null || run <= disconnect)) return { atMs: run, why: 'run-max' };
  return disconnect === null ? null : { atMs: disconnect, why: 'disconnect' };
}
