import { HttpError } from '../src/ports/http.ts';
import type { LogStream } from '../src/wire/host-api.ts';
import { LOG_OFFSET_HEADER } from '../src/wire/host-api.ts';
import { ProblemError } from '../src/wire/problem.ts';
import type { CellApi } from './cell-api.ts';
import { CliError } from './exit.ts';
import type { JobName } from './job-name.ts';
import type { Terminal } from './terminal.ts';

/** One output stream of one allocation. */
export interface LogSource {
  readonly name: JobName;
  readonly stream: LogStream;
  readonly query: Readonly<Record<string, string>>;
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

/** A task may be silent for long; a dead connection looks the same. Asking anew at the last offset tells them apart. */
const IDLE_MS = 60_000;
/** How long a stream may fail without one byte before the command gives up. */
const OUTAGE_MAX_MS = 60_000;
const RETRY_MS = 250;

/**
 * Writes a stream's bytes as they come, each exactly once. When the connection breaks, it goes on at another monitor from
 * the last offset.
 *
 * @returns the offset behind the last byte written
 * @throws CliError when no monitor could be reached for a minute; ProblemError when there is no such log
 */
export async function relay(
  api: CellApi,
  terminal: Terminal,
  source: LogSource,
  options: RelayOptions,
): Promise<number> {
  let offset = options.from ?? 0;
  let failingSinceMs: number | null = null;
  while (!options.signal.aborted) {
    const before = offset;
    const state = { started: true, from: '' };
    try {
      for await (const piece of open(api, source, options, offset, state)) {
        if (piece.offset > offset) options.onGap?.(piece.offset - offset);
        options.write(piece.chunk);
        offset = piece.offset + piece.chunk.length;
        failingSinceMs = null;
      }
      if (state.started) return offset;
    } catch (error) {
      if (options.signal.aborted) return offset;
      if (!(error instanceof HttpError || error instanceof CliError)) throw error;
      const now = terminal.nowMs();
      failingSinceMs = offset > before ? null : (failingSinceMs ?? now);
      const silent = error instanceof HttpError && error.sent;
      if (!silent && failingSinceMs !== null && now - failingSinceMs > OUTAGE_MAX_MS) throw error;
      api.moveOnFrom(state.from);
      await terminal.sleep(RETRY_MS, options.signal);
    }
  }
  return offset;
}

async function* open(
  api: CellApi,
  source: LogSource,
  options: RelayOptions,
  offset: number,
  state: { started: boolean; from: string },
): AsyncGenerator<{ offset: number; chunk: Uint8Array }> {
  const query = new URLSearchParams({
    ...source.query,
    stream: source.stream,
    offset: String(offset),
    follow: String(options.follow),
  });
  const answer = await api.stream(`${source.name.path}/logs?${query.toString()}`, {
    timeoutMs: IDLE_MS,
    idleTimeoutMs: IDLE_MS,
    signal: options.signal,
  });
  state.from = answer.from;
  // The monitor waited a while for the start, and asks to be asked again.
  if (answer.status === 204 && options.follow) state.started = false;
  let at = Number(answer.headers[LOG_OFFSET_HEADER] ?? offset);
  for await (const chunk of answer.chunks) {
    yield { offset: at, chunk };
    at += chunk.length;
  }
}

/** The rest of a log of something that has ended; a host that has forgotten it has no rest. */
export async function relayRest(
  api: CellApi,
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
