import type { CellEvent } from '../../src/wire/api/monitor-api.ts';

/** So long before a conflict the other's commit may lie. */
const BEFORE_MS = 10_000;
/** The store may tell the loser before it answers the winner, who says only then that it has placed something. */
const TOLD_LATE_MS = 1_000;
const WINNERS_MAX = 3;
/** So long after it its loser may be placed elsewhere. */
const AFTER_MS = 60_000;

export interface ConflictStory {
  readonly conflict: CellEvent;
  /** What the commits that came first did on the host; where no revision is known, what others had placed there shortly before. */
  readonly winners: readonly CellEvent[];
  /** What came of the loser afterwards: decided again, placed, started. */
  readonly afterwards: readonly CellEvent[];
}

/** @param events in their order, the oldest first @returns the newest conflict first */
export function conflictStories(events: readonly CellEvent[], max: number): readonly ConflictStory[] {
  return events
    .filter(({ kind }) => kind === 'conflict' || kind === 'rebased')
    .slice(-max)
    .reverse()
    .map((conflict) => ({
      conflict,
      winners: mostTelling(winnersIn(events, conflict)),
      afterwards: events.filter((event) => isAfterwards(event, conflict)).slice(0, 4),
    }));
}

function winnersIn(events: readonly CellEvent[], conflict: CellEvent): readonly CellEvent[] {
  const first = events.filter((event) => isBetween(event, conflict));
  if (first.length > 0) return first;
  const rivals = events.filter((event) => isRival(event, conflict));
  const before = rivals.filter(({ atMs }) => atMs <= conflict.atMs);
  return before.length > 0 ? before : rivals.slice(0, 1);
}

/** The last commit may have freed room that an earlier one had taken: all of them came first. */
function isBetween(event: CellEvent, { readRevision, foundRevision, host, source }: CellEvent): boolean {
  if (readRevision === undefined || foundRevision === undefined) return false;
  const revision = Number(revisionOf(event) ?? 0);
  return (
    event.host === host && event.source !== source && revision > readRevision && revision <= foundRevision
  );
}

/** Of many, those that took room. */
function mostTelling(winners: readonly CellEvent[]): readonly CellEvent[] {
  const placed = winners.filter(({ kind }) => kind === 'placed');
  const told = winners.length > WINNERS_MAX && placed.length > 0 ? placed : winners;
  return told.slice(-WINNERS_MAX);
}

function isRival(event: CellEvent, { atMs, host, source }: CellEvent): boolean {
  return (
    event.kind === 'placed' &&
    host !== undefined &&
    event.host === host &&
    event.source !== source &&
    event.atMs >= atMs - BEFORE_MS &&
    event.atMs <= atMs + TOLD_LATE_MS
  );
}

const FOLLOWING: ReadonlySet<string> = new Set(['placed', 'running', 'parked', 'complete', 'started']);

function isAfterwards(event: CellEvent, { atMs, namespace, job, slot, id }: CellEvent): boolean {
  return (
    event.id !== id &&
    FOLLOWING.has(event.kind) &&
    event.namespace === namespace &&
    event.job === job &&
    (slot === undefined || event.slot === undefined || event.slot === slot) &&
    event.atMs >= atMs &&
    event.atMs - atMs <= AFTER_MS
  );
}

/** The revision of the store that an event's id names; null: the event is of a role. */
export function revisionOf({ id }: CellEvent): string | null {
  return /^(\d+)(\.\d+)?$/.exec(id)?.[1] ?? null;
}
