import type { JobRef, LogCall, LogTrouble, MonitorClient } from '../src/clients/monitor-client.ts';
import { ProblemError } from '../src/wire/problem.ts';
import type { Terminal } from './terminal.ts';

/** One output stream of one allocation. */
export interface LogSource {
  readonly name: JobRef;
  readonly call: Pick<LogCall, 'stream' | 'group' | 'index' | 'allocation' | 'task'>;
}

export interface RelayOptions {
  readonly follow: boolean;
  readonly signal: AbortSignal;
  readonly write: (chunk: Uint8Array) => void;
  /** Bytes before `from` were written already. */
  readonly from?: number;
  /** Older bytes were given up by the host: this many are missing. */
  readonly onGap?: (bytes: number) => void;
}

/** How long no stream may begin before the command gives up. */
const OUTAGE_MAX_MS = 60_000;
const RETRY_MS = 250;

/**
 * Writes a stream's bytes as they come, each exactly once.
 *
 * @returns the offset behind the last byte written
 * @throws HttpError when no monitor could be reached for a minute; ProblemError when there is no such log
 */
export async function relay(
  api: MonitorClient,
  terminal: Terminal,
  { name, call }: LogSource,
  { follow, signal, from = 0, write, onGap }: RelayOptions,
): Promise<number> {
  let offset = from;
  const goOn = patientOver(terminal, signal);
  for await (const piece of api.logs(name, { ...call, follow, signal, offset, goOn })) {
    if (piece.offset > offset) onGap?.(piece.offset - offset);
    write(piece.chunk);
    offset = piece.offset + piece.chunk.length;
  }
  return offset;
}

/** All monitors may be away for a while; what a task wrote waits for them. */
function patientOver(terminal: Terminal, signal: AbortSignal): (trouble: LogTrouble) => Promise<boolean> {
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

/** The rest of a log of something that has ended; a host that has forgotten it has no rest. */
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
