import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import type { LogCall, LogTrouble } from '../../src/clients/monitor-streams.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { Terminal } from '../command/terminal.ts';

/** One output stream of one allocation. */
export interface LogSource {
  readonly name: JobRef;
  readonly call: Pick<LogCall, 'stream' | 'group' | 'index' | 'allocation' | 'task'>;
}

/** A place in an allocation's output. */
export interface LogPlace {
  /** null: at the beginning of whichever there is. */
  allocation: string | null;
  offset: number;
}

export interface RelayOptions {
  readonly follow: boolean;
  readonly signal: AbortSignal;
  readonly write: (chunk: Uint8Array) => void;
  /** How far the output was written already; moved on as more is. Default: nothing of it was. */
  readonly place?: LogPlace;
  /** The host dropped this many older bytes. */
  readonly onGap?: (bytes: number) => void;
}

/** How long no monitor may open the stream before the relay fails. */
const OUTAGE_MAX_MS = 60_000;
const RETRY_MS = 250;

/**
 * Writes a stream's bytes as they come, each exactly once. Where the slot has another allocation than that of the place, all of
 * that one's.
 *
 * @returns the allocation whose output was written to its end; null: there is none, or the signal ended it
 * @throws HttpError when no monitor could be reached for a minute; ProblemError when there is no such log
 */
export async function relay(
  api: MonitorClient,
  terminal: Terminal,
  { name, call }: LogSource,
  { follow, signal, place = { allocation: null, offset: 0 }, write, onGap }: RelayOptions,
): Promise<string | null> {
  const resume = retryUntilOutage(terminal, signal);
  const from = { offset: place.offset, ...(place.allocation === null ? {} : { offsetOf: place.allocation }) };
  const pieces = api.logs(name, { ...call, follow, signal, ...from, resume });
  try {
    for (;;) {
      const next = await pieces.next();
      if (next.done === true) return next.value;
      const piece = next.value;
      if (piece.allocation !== null && piece.allocation !== place.allocation) {
        if (place.allocation !== null) place.offset = 0;
        place.allocation = piece.allocation;
      }
      if (piece.offset > place.offset) onGap?.(piece.offset - place.offset);
      write(piece.chunk);
      place.offset = piece.offset + piece.chunk.length;
    }
  } finally {
    await pieces.return(null);
  }
}

/** All monitors may be down for a while; the host keeps what a task wrote. */
function retryUntilOutage(
  terminal: Terminal,
  signal: AbortSignal,
): (trouble: LogTrouble) => Promise<boolean> {
  let failingSinceMs: number | null = null;
  return async ({ wasOpen }) => {
    const nowMs = terminal.nowMs();
    // A stream that had begun is no outage, only silence or a cut.
    failingSinceMs = wasOpen ? null : (failingSinceMs ?? nowMs);
    if (failingSinceMs !== null && nowMs - failingSinceMs > OUTAGE_MAX_MS) return false;
    await terminal.sleep(RETRY_MS, signal);
    return true;
  };
}

/** The rest of the log of an ended allocation; nothing, where the host has removed it. */
export async function relayRest(
  api: MonitorClient,
  terminal: Terminal,
  source: LogSource,
  options: RelayOptions,
): Promise<void> {
  try {
    await relay(api, terminal, source, { ...options, follow: false });
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
  }
}
