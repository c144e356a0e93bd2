import type { RecordedHistory } from '../../history/history.ts';

/**
 * What somebody has not been told so long after it happened, and after the last fault, he is never told: a dead connection is
 * found out after 20 s, then he asks again.
 */
const DELIVERY_MS = 22_000;

/**
 * Up to which time what happened must have reached everybody by the end of the run.
 * @returns true time in ms; -Infinity: the quiet time was too short to ask for that
 */
export function deliveredUntilMs({ phases }: RecordedHistory): number {
  const quiet = phases.find(({ fact }) => fact.phase === 'quiet');
  const end = phases.find(({ fact }) => fact.phase === 'end');
  if (quiet === undefined || end === undefined) return -Infinity;
  const untilMs = end.atMs - DELIVERY_MS;
  return untilMs < quiet.atMs ? -Infinity : untilMs;
}
