import type { Allocation, Exit, Outcome } from '../cell/allocation.ts';
import type { AllocationReport, TaskReport } from '../host/report.ts';
import { isTerminal } from '../host/states.ts';

/** How often something was started again, by its host or as a new allocation, and how it ended before. */
export interface Restarts {
  /** Starts of the present version beyond the first one of each slot. */
  readonly count: number;
  /** Those of the slot that was started again most often. */
  readonly most: number;
  /** Tasks and slots that have ended and wait to be started again. */
  readonly waiting: number;
  /** When the latest of them began; null: none was started again, or it is not known. */
  readonly lastAtMs: number | null;
  /** How the one before ended. */
  readonly lastExit: Exit | null;
}

export const NO_RESTARTS: Restarts = Object.freeze({
  ...{ count: 0, most: 0, waiting: 0, lastAtMs: null, lastExit: null },
});

/** What holds a slot now. */
export interface LiveSlot {
  readonly allocation: Pick<Allocation, 'jobVersion' | 'createdAtMs'>;
  /** null: its host has not reported it yet. */
  readonly report: Pick<AllocationReport, 'state' | 'restarts' | 'tasks'> | null;
}

/** @param ends of the slot, the oldest first; those of other versions do not count: an update is no restart */
export function restartsOfSlot(live: LiveSlot, ends: readonly Outcome[]): Restarts {
  const { allocation, report } = live;
  const earlier = ends.filter((end) => end.host !== '' && end.jobVersion === allocation.jobVersion);
  const before = earlier.reduce((sum, end) => sum + 1 + end.restarts, 0);
  const count = before + (report?.restarts ?? 0);
  if (count === 0) return waitingOnly(report);
  const again = Object.values(report?.tasks ?? {}).filter((task) => task.restarts > 0);
  const startedMs = again.flatMap((task) => task.startedAtMs ?? []);
  return {
    ...{ count, most: count },
    waiting: waitingIn(report),
    lastAtMs: again.length === 0 ? allocation.createdAtMs : latest(startedMs),
    lastExit: again.map(endBefore).find((exit) => exit !== null) ?? earlier.at(-1)?.exit ?? null,
  };
}

/** Of a slot that nothing holds: what ended last is started again some time. @param ends as above, of one version */
export function restartsOfEmptySlot(ends: readonly Outcome[]): Restarts {
  const placed = ends.filter((end) => end.host !== '');
  const last = placed.at(-1);
  if (last === undefined) return NO_RESTARTS;
  const count = placed.reduce((sum, end) => sum + 1 + end.restarts, -1);
  return { count, most: count, waiting: 1, lastAtMs: null, lastExit: last.exit ?? null };
}

export function joinRestarts(all: Iterable<Restarts>): Restarts {
  let joined = NO_RESTARTS;
  for (const one of all) {
    if (one.count === 0 && one.waiting === 0) continue;
    const isLater = one.lastAtMs !== null && one.lastAtMs >= (joined.lastAtMs ?? 0);
    joined = {
      count: joined.count + one.count,
      most: Math.max(joined.most, one.most),
      waiting: joined.waiting + one.waiting,
      lastAtMs: isLater ? one.lastAtMs : joined.lastAtMs,
      lastExit: isLater || joined.lastExit === null ? (one.lastExit ?? joined.lastExit) : joined.lastExit,
    };
  }
  return joined;
}

/** A start that lasted as long is no part of a loop. */
const LOOP_UP_MS = 60_000;
/** Fewer may be bad luck. */
const LOOP_RESTARTS_MIN = 2;

/** Is it, or one of its slots, started again and again? Many slots started again once each are no loop: a host came back. */
export function isLooping({ most, waiting, lastAtMs }: Restarts, nowMs: number): boolean {
  if (most < LOOP_RESTARTS_MIN) return false;
  return waiting > 0 || (lastAtMs !== null && nowMs - lastAtMs < LOOP_UP_MS);
}

/** `7 times, last exit 1` */
export function restartsText({ count, lastExit }: Restarts): string {
  const times = `${String(count)} ${count === 1 ? 'time' : 'times'}`;
  if (lastExit === null) return times;
  const { code, signal, lost = 'unknown', unhealthy } = lastExit;
  if (unhealthy !== undefined) return `${times}, last not alive: ${unhealthy}`;
  return `${times}, last ${code === undefined ? (signal ?? `lost: ${lost}`) : `exit ${String(code)}`}`;
}

function waitingOnly(report: LiveSlot['report']): Restarts {
  const waiting = waitingIn(report);
  if (waiting === 0) return NO_RESTARTS;
  const exits = Object.values(report?.tasks ?? {}).map((task) => task.exit ?? null);
  return { ...NO_RESTARTS, waiting, lastExit: exits.find((exit) => exit !== null) ?? null };
}

/** Tasks that have ended, not for good, and those that are being started again. */
function waitingIn(report: LiveSlot['report']): number {
  if (report === null || isTerminal(report.state)) return 0;
  return Object.values(report.tasks).filter(
    ({ state, exit, restarts, startedAtMs }) =>
      !isTerminal(state) && (exit !== undefined || (restarts > 0 && startedAtMs === undefined)),
  ).length;
}

function endBefore(task: TaskReport): Exit | null {
  return task.exit ?? task.lastExit ?? null;
}

function latest(timesMs: readonly number[]): number | null {
  return timesMs.length === 0 ? null : Math.max(...timesMs);
}
