import { CLOCK_TOLERANCE_MS, TICKET_TTL_MS } from '../src/core/quota/ticket.ts';
import { SILENCE_MS } from '../src/runtime/reports/beat-interval.ts';

/** From the grant until its ticket can no longer be used. */
export const TICKET_USABLE_MS = TICKET_TTL_MS + CLOCK_TOLERANCE_MS;

/**
 * A host that started something at the last moment reports it within this time, or counts as silent: what a monitor waits for a
 * host, and what an arbiter waits for the monitor's own stream.
 * @param hostSilenceMs after how long without a message of a host monitors call it silent
 */
export function reportLagMs(hostSilenceMs: number): number {
  return hostSilenceMs + SILENCE_MS;
}
