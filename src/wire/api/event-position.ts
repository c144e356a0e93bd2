/**
 * The position of an event among the store's changes, the same at every monitor: `<revision>.<ordinal>`. A revision alone is
 * the position after all of its changes.
 */
export interface EventPosition {
  readonly revision: number;
  readonly ordinal: number;
}

const POSITION = /^(\d{1,15})(?:\.(\d{1,9}))?$/;

/** @returns null for the id of a role's event, which has no position among the store's changes */
export function eventPositionOf(id: string): EventPosition | null {
  const match = POSITION.exec(id);
  if (match === null) return null;
  const [, revision, ordinal] = match;
  return ordinal === undefined
    ? endOfRevision(Number(revision))
    : { revision: Number(revision), ordinal: Number(ordinal) };
}

/** The position after all changes of the revision. */
export function endOfRevision(revision: number): EventPosition {
  return { revision, ordinal: Infinity };
}

export function isBefore(a: EventPosition, b: EventPosition): boolean {
  return a.revision === b.revision ? a.ordinal < b.ordinal : a.revision < b.revision;
}
