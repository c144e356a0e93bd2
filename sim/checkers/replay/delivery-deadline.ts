import type { RecordedHistory } from '../../history/history.ts';

/**
 * A client that has not received an event so long after it, and after the last fault, never will: a dead connection shows by 20 s of
 * silence, then the client asks again.
 */
const DELIVERY_MS = 22_000;

/**
 * Until when an event must have happened to have reached every client by the end of the run.
 * @returns true time in ms; -Infinity: the quiet time was too short to ask for that
 */
export function deliveredUntilMs({ phases }: RecordedHistory): number {
  const quiet = phases.find(({ fact }) => fact.phase === 'quiet');
  const end = phases.find(({ fact }) => fact.phase === 'end');
  if (quiet === undefined || end === undefined) return -Infinity;
  const untilMs = end.atMs - DELIVERY_MS;
  return untilMs < quiet.atMs ? -Infinity : untilMs;
}
