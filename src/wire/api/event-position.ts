/**
 * Where among the changes of the store an event lies, the same at every monitor: `<revision>.<ordinal>`. A revision alone is
 * the place behind all of its changes.
 */
export interface EventPosition {
  readonly revision: number;
  readonly ordinal: number;
}

const PLACE = /^(\d{1,15})(?:\.(\d{1,9}))?$/;

/** @returns null for the id of what a role said, which has no place among the store's changes */
export function eventPositionOf(id: string): EventPosition | null {
  const match = PLACE.exec(id);
  if (match === null) return null;
  const [, revision, ordinal] = match;
  return ordinal === undefined
    ? endOfRevision(Number(revision))
    : { revision: Number(revision), ordinal: Number(ordinal) };
}

/** The place behind all changes of the revision. */
export function endOfRevision(revision: number): EventPosition {
  return { revision, ordinal: Infinity };
}

export function isBefore(a: EventPosition, b: EventPosition): boolean {
  return a.revision === b.revision ? a.ordinal < b.ordinal : a.revision < b.revision;
}
